"""Arrows between vertices: the symbols that an equation uses, their vertices, and their delay in steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from regard.describe.graph.defining import Definitions
from regard.describe.graph.part_board import PartBoard, bodies
from regard.describe.vertices import Arrow, Vertex
from regard.notation import Equation, Node, Number, Operation, Symbol, symbols
from regard.notation.walking import calls_in, said_symbols, same_symbol, written_symbol


def link(board: PartBoard, definitions: Definitions) -> list[Arrow]:
    arrows = [arrow for unit in definitions.units for arrow in _arrows_into(board, definitions, unit)]
    return arrows + _starts(board, definitions, arrows)


def _arrows_into(board: PartBoard, definitions: Definitions, unit: Vertex) -> list[Arrow]:
    """One arrow for each source vertex and delay."""
    found: dict[tuple[Any, ...], Arrow] = {}
    for equation in unit.equations:
        for symbol in _used(board, equation.body):
            arrow = _arrow(board, definitions, symbol, unit, equation)
            if arrow is None:
                continue
            known = found.setdefault((arrow.source, arrow.shift), arrow)
            if known.at != arrow.at:
                found[arrow.source, arrow.shift] = replace(known, at="all")
    return [
        arrow
        for (source, shift), arrow in found.items()
        if not shift or source == unit.key or (source, 0) not in found  # a neighbor, within the same step
    ]


def _used(board: PartBoard, node: Node) -> Iterator[Symbol]:
    """The symbols of a tree, including those in functions it calls, but without their parameters."""
    for one in said_symbols(node):
        if (one.base not in board.lines.ranges or one.items) and not board.is_weight(one):
            yield one
    for call in calls_in(node):
        for function in board.called(call):
            target: Any = function.equation.targets[0]
            own = {one.base for one in symbols(target.arguments)} | set(function.inside)
            for body in bodies(function):
                yield from (one for one in _used(board, body) if one.base not in own)


def _arrow(
    board: PartBoard, definitions: Definitions, symbol: Symbol, unit: Vertex, equation: Equation
) -> Arrow | None:
    """The arrow from the definition of a symbol, in this part or another, to the vertex that uses it."""
    text = written_symbol(symbol)
    for arity in range(len(symbol.items), -1, -1):
        defined = definitions.of(symbol.base, arity)
        for definer, source in sorted(defined, key=lambda one: not board.is_certain(one[0].targets[0])):
            target = definer.targets[0]
            if board.is_certain(target) and not same_symbol(target, symbol):
                continue
            if not board.named_alike(target, symbol):
                continue
            shift, at, index = _shift(board, target, symbol)
            if source is unit and not shift:
                # h_{λ_j}, the children of a node: earlier steps, determined by the structure
                inner = any(getattr(item, "items", ()) for item in symbol.items)
                if not inner or at or target.base != equation.targets[0].base:
                    return None
                shift = -1
            return Arrow(source.key, unit.key, text, shift, at, index=index)
    for key, source in board.outside.items():
        base, _, below = key.partition("_")
        if base == symbol.base and bool(below) == bool(symbol.items):
            return Arrow(source.key, unit.key, text, None, "all" if below else "")
    return None


def _shift(board: PartBoard, target: Symbol, symbol: Symbol) -> tuple[int, str, str]:
    """The delay of a value, the step it is taken from, and the shifted index."""
    shift, at, index = 0, "", ""
    for pattern, item in zip(target.items, symbol.items, strict=False):
        if not board.lines.is_index(pattern):
            continue
        moved = isinstance(item, Operation) and item.sign in "+−" and isinstance(item.right, Number)
        if moved and isinstance(item.left, Symbol) and item.left.base in board.lines.ranges:
            if not shift:
                shift, index = int(item.right.value) * (1 if item.sign == "+" else -1), pattern.base
            continue
        if not board.goes_over_places(pattern.base):
            continue
        if isinstance(item, Number):
            at = str(item.value)
        elif isinstance(item, Symbol) and not item.items and item.base not in board.lines.ranges:
            at = item.base
    return shift, at, index


def _starts(board: PartBoard, definitions: Definitions, arrows: Sequence[Arrow]) -> list[Arrow]:
    """Arrows from initial values (s_0) to the vertices that use the value of the previous step."""
    found: list[Arrow] = []
    for defined in definitions.found.values():
        general = {
            board.labels(equation.targets[0]): unit
            for equation, unit in reversed(defined)
            if not board.is_certain(equation.targets[0])
        }
        for equation, unit in defined:
            first = equation.targets[0]
            every = general.get(board.labels(first))
            if every is None or unit is every or not board.is_certain(first):
                continue
            for arrow in arrows:
                start = Arrow(unit.key, arrow.target, written_symbol(first), start=True)
                if arrow.source == every.key and arrow.delayed and start not in found:
                    found.append(start)
    return found
