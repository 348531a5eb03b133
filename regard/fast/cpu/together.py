# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""One search by several threads: each multiplies by a share of the panels of every weight.

With few rows, a step takes as long as reading its weights. Threads that share them read less each, and what they read
stays in the cache of their core. One thread searches; the others are helpers, which do nothing but products: they take
the rows and the number of a weight, and give back their columns. The result is that of a single thread, in every bit.

The search depends on no helper. One that has not done its last product, because another program has its core, is given
no new one, and the search computes that share itself. So it waits for a helper some microseconds at most.
"""

from __future__ import annotations

import platform
import sys
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from regard.fast.cpu.either import (
    depth_of,
    multiply_rows,
    multiply_rows_from,
    of_layer,
    panels_in,
    read_rows,
    some_panels,
)
from regard.fast.cpu.product import Target, Window
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.rows import copy

Array = Any
X86 = platform.machine().lower() in ("x86_64", "amd64")
LINE = 8
"""Numbers of 64 bits from one thread's place to the next: each has a line of the cache of its own."""
PATIENCE = 400 if X86 else 10_000
"""Rounds of the loop in which the search waits for a helper: about 20 microseconds."""
BUSY = 2_000
"""Rounds of the loop in which a helper waits for work before it lets other threads run."""
WORD, READ, RECURRENT, BELOW, QUERY, COMBINE, OUTPUT, SCREEN, END = range(1, 10)
"""The weights that are multiplied by, and the end of the search."""
_CODES, _LAYERS, _PLACES, _ROWS, _TURNS = 16, 64, 2**20, 128, 2**24
"""How many numbers of each kind fit into a message."""


class Shared(NamedTuple):
    """What the threads of a search have in common, for R rows, inputs of at most K and outputs of N numbers.

    asked    (members · LINE) the last product that each helper was asked for   done (the same) its last one
    given    (R, K) the rows   begun (R, N) the numbers that a product is added to
    made     (members, R, N) the columns of each helper
    """

    asked: Array
    done: Array
    given: Array
    begun: Array
    made: Array


class Team(NamedTuple):
    """Whom the search may ask; one member: nobody. turn (1) counts the products."""

    members: int
    shared: Shared
    turn: Array


def shared_by(members: int, rows: int, depth: int, columns: int) -> Shared:
    """What so many threads have in common; one searches alone."""
    rows, depth, columns = (0, 0, 0) if members == 1 else (rows, depth, -(-columns // WIDTH) * WIDTH)
    return Shared(
        np.zeros(members * LINE, np.int64),
        np.zeros(members * LINE, np.int64),
        np.empty((rows, depth), np.float32),
        np.empty((rows, columns), np.float32),
        np.empty((members, rows, columns), np.float32),
    )


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
        if X86:
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse2.pause", (), kind), [])
        elif platform.machine().lower() in ("aarch64", "arm64"):
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
def team_of(shared: Shared) -> Team:
    return Team(len(shared.made), shared, np.zeros(1, np.int64))


@part
def nobody() -> Team:
    """The team of one."""
    nothing, none = np.empty((0, 0), np.float32), np.zeros(LINE, np.int64)
    return Team(1, Shared(none, none, nothing, nothing, np.empty((1, 0, 0), np.float32)), none)


def dismiss(shared: Shared) -> None:
    """Let the helpers end."""
    shared.asked[:] = END


@part
def _fits(team: Team, layer: int, place: int, count: int, depth: int, panels: int) -> bool:
    """Whether a product may be shared."""
    shared = team.shared
    return (
        team.members > 1
        and panels >= team.members
        and count <= min(len(shared.given), _ROWS - 1)
        and depth <= shared.given.shape[1]
        and panels * WIDTH <= shared.begun.shape[1]
        and layer < _LAYERS
        and place < _PLACES
        and team.turn[0] < _TURNS - 1
    )


@part
def _ask(
    team: Team, which: int, layer: int, place: int, add: bool, count: int, depth: int, source: Window
) -> int:
    """Ask every helper that has done its last product for its share of one. Returns the message."""
    shared = team.shared
    array, row, step, column = source
    for i in range(count):
        copy(array[row + i * step, column : column + depth], shared.given[i, :depth])
    team.turn[0] += 1
    message = (((team.turn[0] * _ROWS + count) * _PLACES + place) * 2 + int(add)) * _LAYERS + layer
    message = message * _CODES + which
    for member in range(1, team.members):
        if _announced(shared.done, member * LINE) == shared.asked[member * LINE]:
            _announce(shared.asked, member * LINE, message)
    return message


@part
def _has_done(team: Team, member: int, message: int) -> bool:
    """Whether a helper does the product of a message in time."""
    place, shared = member * LINE, team.shared
    if shared.asked[place] != message:
        return False
    for _ in range(PATIENCE):
        if _announced(shared.done, place) == message:
            return True
        _rest()
    return False


@part
def multiply_together(
    team: Team, which: int, layer: int, count: int, source: Window, rows: Any, weight: Any, target: Target
) -> None:
    """As `multiply_rows`.

    which, layer   the number of the weight   source: what `rows` were read from
    """
    panels, depth = panels_in(weight), depth_of(weight)
    out, row, step, column, add = target
    columns = min(panels * WIDTH, out.shape[1] - column)
    if not _fits(team, layer, columns, count, depth, panels):
        multiply_rows(count, rows, weight, target)
        return
    own = panels // team.members
    if add:
        for i in range(count):
            before = out[row + i * step, column + own * WIDTH : column + columns]
            copy(before, team.shared.begun[i, own * WIDTH : columns])
    message = _ask(team, which, layer, columns, add, count, depth, source)
    for member in range(team.members):
        first, end = member * panels // team.members, (member + 1) * panels // team.members
        low, high = first * WIDTH, min(end * WIDTH, columns)
        if member > 0 and _has_done(team, member, message):
            for i in range(count):
                made = team.shared.made[member, i, low:high]
                copy(made, out[row + i * step, column + low : column + high])
        else:
            share = some_panels(weight, first, end)
            multiply_rows(count, rows, share, Target(out, row, step, column + low, add))


@part
def multiply_some_together(
    team: Team, first: int, panels: int, count: int, source: Window, rows: Any, layers: Any, out: Array
) -> None:
    """Write the logits of the words in some panels of the output layer, from `first` on, to the first columns."""
    depth, members, message = depth_of(layers.output), 1, 0
    if _fits(team, 0, first, count, depth, panels):
        members = team.members
        message = _ask(team, OUTPUT, 0, first, False, count, depth, source)
    for member in range(members):
        low, high = member * panels // members, (member + 1) * panels // members
        if member > 0 and _has_done(team, member, message):
            for i in range(count):
                copy(
                    team.shared.made[member, i, low * WIDTH : high * WIDTH],
                    out[i, low * WIDTH : high * WIDTH],
                )
        else:
            _logits(count, rows, first, low, high, layers, out)


@part
def _logits(count: int, rows: Any, first: int, low: int, high: int, layers: Any, out: Array) -> None:
    share = some_panels(layers.output, first + low, first + high)
    bias = Window(layers.output_start, 0, 0, (first + low) * WIDTH)
    multiply_rows_from(count, rows, share, bias, Window(out, 0, 1, low * WIDTH))


@part
def _share(member: int, count: int, add: bool, columns: int, weight: Any, shared: Shared) -> None:
    """A helper's share of a product."""
    members, panels = len(shared.made), panels_in(weight)
    first, end = member * panels // members, (member + 1) * panels // members
    out = shared.made[member, :, :columns]
    if add:
        for i in range(count):
            copy(shared.begun[i, first * WIDTH : columns], out[i, first * WIDTH :])
    rows = read_rows(count, Window(shared.given, 0, 1, 0), weight)
    multiply_rows(count, rows, some_panels(weight, first, end), Target(out, 0, 1, first * WIDTH, add))


@part
def _weight(which: int, layer: int, layers: Any) -> Any:
    if which == WORD:
        return layers.word
    if which == READ:
        return layers.read
    if which == QUERY:
        return layers.query
    if which == COMBINE:
        return layers.combine
    return of_layer(layers.below if which == BELOW else layers.recurrent, layer)


@kernel
def help_part(member: int, at_once: int, layers: Any, screen: Any, shared: Shared) -> None:
    """Do products until the search ends.

    at_once   panels of the output layer   screen: its weight as bytes, or without panels
    """
    place, last, waited = member * LINE, 0, 0
    while True:
        message = _announced(shared.asked, place)
        if message == last:
            waited += 1
            _rest()
            if waited > BUSY:
                _let_others()
            continue
        if message == END:
            return
        last, waited = message, 0
        rest, which = message // _CODES, message % _CODES
        rest, layer = rest // _LAYERS, rest % _LAYERS
        rest, add = rest // 2, rest % 2 == 1
        count, spot = rest // _PLACES % _ROWS, rest % _PLACES
        if which == OUTPUT:
            panels, members = min(at_once, panels_in(layers.output) - spot), len(shared.made)
            low, high = member * panels // members, (member + 1) * panels // members
            rows = read_rows(count, Window(shared.given, 0, 1, 0), layers.output)
            _logits(count, rows, spot, low, high, layers, shared.made[member])
        elif which == SCREEN:
            _share(member, count, add, spot, screen, shared)
        else:
            _share(member, count, add, spot, _weight(which, layer, layers), shared)
        _announce(shared.done, place, message)
