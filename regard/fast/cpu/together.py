# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""One search by several threads: each multiplies by a share of the panels of every weight.

With few rows, a step takes as long as reading its weights. Threads that share them read less each, and what they read
stays in the cache of their core. All members compute everything but products, in the same order, so that they always
agree, and exchange their columns of a product when it is done: in two buffers by turns, because a member may still read
those of the product before. The result is that of a single thread, in every bit.

Members wait for each other in a loop, so all must run at once. The first one waits for the others at the beginning: if
they do not come, because threads are scarce, it goes on alone, and they do nothing.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from regard.fast.cpu.either import multiply_rows, multiply_rows_from, panels_in, some_panels
from regard.fast.cpu.product import Target, Window
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import part

Array = Any
LINE = 8
"""Numbers of 64 bits from one member's place to the next: each has a line of the cache of its own."""
OPEN, TOGETHER, ALONE = range(3)
PATIENCE = 100_000
"""Rounds of the loop in which the first member waits for the others at the beginning: some milliseconds."""
BUSY = 2_000
"""Rounds after which a waiting member lets other threads run."""
_LONG = ir.IntType(64)


class Shared(NamedTuple):
    """What the members of a team have in common; both empty: each thread searches for sources of its own.

    meeting    ((1 + members) · LINE) zeros: what the first one decides, and how often each has arrived
    exchange   (2, R, N) columns of products, for R rows
    """

    meeting: Array
    exchange: Array


class Team(NamedTuple):
    """One member's view; a team of one shares nothing. turn (1): how often it has arrived."""

    member: int
    members: int
    shared: Shared
    turn: Array


def shared_by(members: int, rows: int, columns: int) -> Shared:
    """What a team has in common whose products have at most so many rows and columns; nothing for one member."""
    alone = members == 1
    meeting = np.zeros(0 if alone else (1 + members) * LINE, np.int64)
    return Shared(meeting, np.empty((2, 0 if alone else rows, columns), np.float32))


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    made = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(made.data, [arguments[1]])


@intrinsic
def _announce(typing: Any, array: Any, place: Any, value: Any) -> Any:
    """Write a number after everything that was written before it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = _place(context, builder, signature, arguments)
        builder.store_atomic(arguments[2], target, ordering="release", align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.int64), generate


@intrinsic
def _announced(typing: Any, array: Any, place: Any) -> Any:
    """Read a number before everything that is read after it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = _place(context, builder, signature, arguments)
        return builder.load_atomic(source, ordering="acquire", align=8)

    return types.int64(array, types.intp), generate


@intrinsic
def _rest(typing: Any) -> Any:
    """Tell the core that this is a loop that waits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        machine = platform.machine().lower()
        if machine in ("x86_64", "amd64"):
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        elif machine in ("aarch64", "arm64"):
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [number])
            function = builder.module.declare_intrinsic("llvm.aarch64.hint", (), kind)
            builder.call(function, [ir.Constant(number, 1)])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def _let_others(typing: Any) -> Any:
    """Let another thread have this core."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if sys.platform.startswith("linux"):
            kind, module = ir.FunctionType(ir.IntType(32), []), builder.module
            name = "sched_yield"
            builder.call(module.globals.get(name) or ir.Function(module, kind, name), [])
        return context.get_dummy_value()

    return types.void(), generate


@part
def _await(array: Array, place: int, least: int, patience: int) -> bool:
    """Wait until a number is at least so large; False if patience ends before (negative: it does not)."""
    rounds = 0
    while _announced(array, place) < least:
        if rounds == patience:
            return False
        rounds += 1
        _rest()
        if rounds % BUSY == 0:
            _let_others()
    return True


@part
def team_of(member: int, members: int, shared: Shared) -> Team:
    """Meet the other members; a team of 0 members if this one is not needed."""
    turn, meeting = np.zeros(1, np.int64), shared.meeting
    if len(meeting) == 0:
        return Team(0, 1, shared, turn)
    if member > 0:
        _announce(meeting, (1 + member) * LINE, 1)
        _await(meeting, 0, TOGETHER, -1)
    else:
        here = True
        for other in range(1, members):
            here = here and _await(meeting, (1 + other) * LINE, 1, PATIENCE)
        _announce(meeting, 0, TOGETHER if here else ALONE)
    turn[0] = 1
    if _announced(meeting, 0) == TOGETHER:
        return Team(member, members, shared, turn)
    return Team(0, 1 if member == 0 else 0, shared, turn)


@part
def _wait_for_all(team: Team) -> None:
    team.turn[0] += 1
    _announce(team.shared.meeting, (1 + team.member) * LINE, team.turn[0])
    for other in range(team.members):
        if other != team.member:
            _await(team.shared.meeting, (1 + other) * LINE, team.turn[0], -1)


@part
def _exchange(team: Team, count: int, out: Window, columns: int, first: int, end: int) -> None:
    """Give the others the columns first … end of `count` rows of a window, and take the rest of the columns."""
    buffer = team.shared.exchange[team.turn[0] % 2]
    array, row, step, column = out
    for i in range(count):
        for j in range(first, end):
            buffer[i, j] = array[row + i * step, column + j]
    _wait_for_all(team)
    for i in range(count):
        for j in range(first):
            array[row + i * step, column + j] = buffer[i, j]
        for j in range(end, columns):
            array[row + i * step, column + j] = buffer[i, j]


@part
def multiply_together(team: Team, count: int, rows: Any, weight: Any, target: Target) -> None:
    """As `multiply_rows`."""
    if team.members == 1:
        multiply_rows(count, rows, weight, target)
        return
    panels = panels_in(weight)
    first, end = team.member * panels // team.members, (team.member + 1) * panels // team.members
    out, row, step, column, add = target
    columns = min(panels * WIDTH, out.shape[1] - column)
    share = some_panels(weight, first, end)
    multiply_rows(count, rows, share, Target(out, row, step, column + first * WIDTH, add))
    low, high = min(first * WIDTH, columns), min(end * WIDTH, columns)
    _exchange(team, count, Window(out, row, step, column), columns, low, high)


@part
def multiply_together_from(
    team: Team, count: int, rows: Any, weight: Any, begin: Window, out: Window
) -> None:
    """As `multiply_rows_from`."""
    if team.members == 1:
        multiply_rows_from(count, rows, weight, begin, out)
        return
    panels = panels_in(weight)
    first, end = team.member * panels // team.members, (team.member + 1) * panels // team.members
    more = first * WIDTH
    multiply_rows_from(
        count,
        rows,
        some_panels(weight, first, end),
        Window(begin.array, begin.row, begin.step, begin.column + more),
        Window(out.array, out.row, out.step, out.column + more),
    )
    _exchange(team, count, out, panels * WIDTH, first * WIDTH, end * WIDTH)
