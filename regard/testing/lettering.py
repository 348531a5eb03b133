"""Equations of a part against its code: which weights its letters stand for is found by trying."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.notation.nodes import Symbol, symbols
from regard.notation.reading import BoardLines
from regard.testing.board import Board, Family, NotationError
from regard.testing.board.symbols import Symbols
from regard.testing.board.values import FUNCTIONS
from regard.testing.report import PartReport, Stop

MOST = 3000
"""Assignments of weights to letters that are tried."""


def check_lines(report: PartReport, method: str, lines: Any) -> None:
    """Every line is a text of the notation."""
    if not isinstance(lines, list | tuple) or not all(isinstance(one, str) for one in lines):
        report.add(method, "a list of lines", type(lines).__name__)
        raise Stop
    try:
        BoardLines(lines)
    except NotationError as error:
        said, *more = str(error).splitlines()
        line = f"{more[0].strip()!r}, a line" if more else "a line"
        report.add(method, "lines of the notation", f"{line} that cannot be read ({said.rstrip('.: ')})")
        raise Stop from None


def check_equations(
    report: PartReport,
    method: str,
    lines: Sequence[str],
    wanted: str,
    known: Mapping[str, Any],
    truth: Tensor,
    module: nn.Module,
    sizes: Mapping[str, int] | None = None,
) -> None:
    """The symbol or call `wanted`, computed from the lines, equals what the module computed.

    known   tensors and numbers of the symbols that are given; the other free symbols are the module's weights
    sizes   numbers that a free symbol may stand for, by its letter
    """
    check_lines(report, method, lines)
    given = {name: one.double() if isinstance(one, Tensor) else one for name, one in known.items()}
    truth = truth.detach().double()
    free = _free(lines, given)
    reason, found = "", None
    for weights in itertools.islice(_assigned(free, module, sizes or {}), MOST):
        try:
            value = _value(lines, {**given, **weights}, wanted)
        except (NotationError, RuntimeError, IndexError) as error:
            reason = str(error).splitlines()[0]
            continue
        if value.shape == truth.shape and torch.allclose(value, truth, rtol=1e-4, atol=1e-5, equal_nan=True):
            return
        found = value
    received = f"other values, such as {_few(found)} for {_few(truth)}" if found is not None else reason
    if found is None and free:
        shapes = (
            ", ".join(f"{name} {tuple(one.shape)}" for name, one in module.named_parameters()) or "no weights"
        )
        letters = ", ".join(_written(base, below) for base, below in free)
        received = (
            f"no assignment of {shapes} to the letters {letters} that fits{f': {reason}' if reason else ''}"
        )
    report.add(method, f"equations that give {wanted} as the code computes it", received)


def _few(values: Tensor) -> str:
    shown = ", ".join(f"{one:.4g}" for one in values.flatten()[:3].tolist())
    return f"[{shown}, …]" if values.numel() > 3 else f"[{shown}]"


def _value(lines: Sequence[str], binding: Mapping[str, Any], wanted: str) -> Tensor:
    with torch.no_grad():
        if "(" not in wanted:
            return Board(lines, binding).all(wanted)
        found = Board(lines, binding)(wanted)
        several = found if isinstance(found, tuple) else (found,)
        return torch.cat([one.tensor if isinstance(one, Family) else one for one in several], -1)


def _free(lines: Sequence[str], known: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The letter and the subscripts of every symbol that the lines use and do not define."""
    board = Symbols(lines, known)
    defined = {equation.targets[0].base for equation, _ in board.equations}
    defined |= {target.base for target in board.bound.values()}
    defined |= {*board.sizes, *board.ranges, *FUNCTIONS, "0", "π"}
    bodies = [(equation.body, set[str]()) for equation, _ in board.equations]
    for function in board.functions:
        target: Any = function.equation.targets[0]
        local = {one.base for one in target.arguments} | set(function.inside)
        bodies += [(body, local) for body in (function.equation.body, *function.inside.values())]
    found: dict[tuple[str, tuple[str, ...]], None] = {}
    labels: set[str] = set()
    for body, local in bodies:
        for one in symbols(body):
            below = tuple(str(getattr(item, "base", getattr(item, "value", "?"))) for item in one.items)
            labels |= set(below)
            if isinstance(one, Symbol) and one.base not in local and one.base not in defined:
                found[one.base, below] = None
    return [(base, below) for base, below in found if below or base not in labels]


def _assigned(
    free: Sequence[tuple[str, tuple[str, ...]]], module: nn.Module, sizes: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """Each way to assign the module's weights, or equal pieces of them, to the letters.

    W_rx, W_zx and W_nx are pieces of one weight, in the order of the gates r, z, n; U_rx has the same place as W_rx. A
    capital letter is a matrix or a stack of them, a small one a vector or a number, if weights of that form are left.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for base, below in free:
        if base not in sizes:
            groups.setdefault((base, below[1:] if len(below) > 1 else below), []).append(_gate(below))
    fixed = {_named(base, below): torch.tensor(float(sizes[base])) for base, below in free if base in sizes}
    weights = [one.detach().double() for one in module.parameters()]
    gates = sorted({gate for several in groups.values() if len(several) > 1 for gate in several})
    few = list(itertools.permutations(range(len(gates)))) if len(gates) < 6 else [tuple(range(len(gates)))]
    for chosen in _choices(list(groups), groups, weights):
        for order in few:
            place = dict(zip(gates, order, strict=True))
            yield fixed | {
                _named(base, (gate, *rest) if gate else rest): _piece(
                    weight, place.get(gate, 0), len(several)
                )
                for ((base, rest), several), weight in zip(groups.items(), chosen, strict=True)
                for gate in several
            }


def _choices(
    names: list[tuple[str, tuple[str, ...]]],
    groups: Mapping[tuple[str, tuple[str, ...]], list[str]],
    weights: list[Tensor],
    used: tuple[int, ...] = (),
) -> Iterator[list[Any]]:
    """A weight for each group of letters."""
    if not names:
        yield []
        return
    name, *others = names
    count, left = len(groups[name]), [place for place in range(len(weights)) if place not in used]
    large = name[0][:1].isupper()
    alike = [place for place in left if large == (weights[place].ndim >= 2)]
    for places in _taken(weights, alike or left, count):
        weight: Any = weights[places[0]] if len(places) == 1 else torch.cat([weights[one] for one in places])
        weight = weight if alike else Family(weight, (0,) * weight.ndim)  # a table, such as b[z_j, z_{j+1}]
        for rest in _choices(others, groups, weights, (*used, *places)):
            yield [weight, *rest]
    for place in () if large or count > 1 else left:  # those of nn.Linear(n, 1): w_a (1, n) and b_a (1,)
        if weights[place].ndim in (1, 2) and len(weights[place]) == 1:
            for rest in _choices(others, groups, weights, (*used, place)):
                yield [weights[place][0], *rest]


def _taken(weights: Sequence[Tensor], left: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """The weights that hold `count` pieces of equal size: one of them, or two together."""
    for place in left:
        if count == 1 or (weights[place].ndim and len(weights[place]) % count == 0):
            yield (place,)
    for one, other in itertools.permutations(left, 2) if count > 1 else ():
        first, second = weights[one].shape, weights[other].shape
        if first and second and first[1:] == second[1:] and (first[0] + second[0]) % count == 0:
            yield one, other


def _gate(below: tuple[str, ...]) -> str:
    """The first of several subscripts, which names a piece of a weight."""
    return below[0] if len(below) > 1 else ""


def _piece(weight: Any, place: int, count: int) -> Any:
    return weight if count == 1 else weight.chunk(count)[min(place, count - 1)]


def _named(base: str, below: tuple[str, ...]) -> str:
    return f"{base}_{{{','.join(below)}}}" if below else base


def _written(base: str, below: tuple[str, ...]) -> str:
    return f"{base}_{''.join(below)}" if below else base
