"""Equations of a part against its code, with the weights that its letters say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.letters import Letters
from regard.notation import BoardLines, NotationError, Symbol, symbols
from regard.notation.grammar import Parser
from regard.testing.board import Board, Family
from regard.testing.board.symbols import Symbols
from regard.testing.board.values import FUNCTIONS
from regard.testing.report import PartReport, Stop


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
    letters: Letters,
    sizes: Mapping[str, int] | None = None,
) -> None:
    """The symbol or call `wanted`, computed from the lines, equals what the module computed.

    known     tensors and numbers of the symbols that are given; the other free symbols are the module's weights
    letters   those that the part declares for them
    sizes     numbers that a free symbol may stand for, by its letter
    """
    check_lines(report, method, lines)
    given = {name: one.double() if isinstance(one, Tensor) else one for name, one in known.items()}
    weights = _weights(report, lines, module, letters)
    free = _free(lines, {**given, **weights})
    given |= {name: torch.tensor(float(sizes[name[0]])) for name in free if sizes and name[0] in sizes}
    if missing := [name for name in free if name not in given]:
        shapes = ", ".join(f"{name} {tuple(one.shape)}" for name, one in module.named_parameters())
        expected = "a parameter for each letter of the equations"
        report.add("letters", expected, f"none for {', '.join(missing)}; it has {shapes or 'no weights'}")
        return
    truth = truth.detach().double()
    expected = f"equations that give {wanted} as the code computes it"
    try:
        value = _value(lines, {**given, **weights}, wanted)
    except (NotationError, RuntimeError, IndexError) as error:
        report.add(method, expected, str(error).splitlines()[0])
        return
    if value.shape != truth.shape or not torch.allclose(value, truth, rtol=1e-4, atol=1e-5, equal_nan=True):
        report.add(method, expected, f"other values, such as {_few(value)} for {_few(truth)}")


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


def _weights(report: PartReport, lines: Sequence[str], module: nn.Module, letters: Letters) -> dict[str, Any]:
    """{letter: the parameter or the piece of it that it stands for}."""
    parameters = {name: one.detach().double() for name, one in module.named_parameters()}
    if without := [name for name in parameters if name not in letters]:
        report.add("letters", "a letter for each parameter", f"none for {', '.join(without)}")
        raise Stop
    found: dict[str, Any] = {}
    ranges = BoardLines(lines).ranges
    for name, parameter in parameters.items():
        declared = letters[name]
        names = (declared,) if isinstance(declared, str) else tuple(declared)
        if len(names) > 1 and len(parameter) % len(names):
            expected = f"{len(names)} equal pieces of {name}, for {', '.join(names)}"
            report.add("letters", expected, f"{len(parameter)} rows")
            raise Stop
        for letter, piece in zip(
            names, parameter.chunk(len(names)) if len(names) > 1 else [parameter], strict=True
        ):
            found[letter] = _shaped(letter, piece, ranges)
    return found


def _shaped(letter: str, weight: Tensor, ranges: Mapping[str, Any]) -> Any:
    """A weight as its letter is used: a capital is a matrix, or one for each index; a small letter a vector, a number,
    or a table that is looked up from 0, such as b[z_j, z_{j+1}]."""
    symbol = Parser(letter).factor()
    items = symbol.items if isinstance(symbol, Symbol) else ()
    if any(getattr(item, "base", "") in ranges for item in items):
        return Family(weight)
    if letter[0].isupper() or weight.ndim == 0:
        return weight
    if len(weight) == 1:  # those of nn.Linear(n, 1): w_a (1, n) and b_a (1,)
        return weight[0]
    return weight if weight.ndim == 1 else Family(weight, (0,) * weight.ndim)


def _free(lines: Sequence[str], known: Mapping[str, Any]) -> list[str]:
    """Every symbol that the lines use and neither define nor know."""
    board = Symbols(lines, known)
    defined = {equation.targets[0].base for equation, _ in board.equations}
    defined |= {*board.sizes, *board.ranges, *FUNCTIONS, "0", "π"}
    bound = {(target.base, len(target.items)) for target in board.bound.values()}
    names = {target for target in board.bound.values() if not _indexed(target, board.ranges)}
    bodies = [(equation.body, set[str]()) for equation, _ in board.equations]
    for function in board.functions:
        target: Any = function.equation.targets[0]
        local = {one.base for one in target.arguments} | set(function.inside)
        bodies += [(body, local) for body in (function.equation.body, *function.inside.values())]
    found: dict[str, None] = {}
    labels: set[str] = set()
    for body, local in bodies:
        for one in symbols(body):
            below = [str(getattr(item, "base", getattr(item, "value", "?"))) for item in one.items]
            labels |= set(below)
            if one.base in local or one.base in defined or one in names:
                continue
            if (one.base, len(one.items)) in bound and _indexed(one, board.ranges):
                continue
            found["".join([one.base, "_" if below else "", *below])] = None
    return [name for name in found if name not in labels]


def _indexed(symbol: Symbol, ranges: Mapping[str, Any]) -> bool:
    return any(getattr(item, "base", "") in ranges for item in symbol.items)
