"""Vertices from equations: one for each symbol that the board of a part defines."""

from __future__ import annotations

from dataclasses import dataclass

from regard.describe.graph.part_board import PartBoard
from regard.describe.vertices import Vertex
from regard.notation import Equation, Symbol
from regard.notation.walking import said_symbols, same_symbol, written_symbol


@dataclass
class Definitions:
    """The vertices that define symbols.

    units   the vertices, in the order of the board
    found   {(symbol, number of its subscripts): its equations, each with its vertex}
    """

    units: list[Vertex]
    found: dict[tuple[str, int], list[tuple[Equation, Vertex]]]

    def of(self, base: str, arity: int) -> list[tuple[Equation, Vertex]]:
        return self.found.get((base, arity), [])

    def move(self, unit: Vertex, into: Vertex) -> None:
        """Transfer the definitions of one vertex to another."""
        for found in self.found.values():
            found[:] = [(equation, into if one is unit else one) for equation, one in found]

    def definers(self, board: PartBoard, wanted: Symbol) -> list[Vertex]:
        """The vertices that define a symbol, best match first."""
        found = self.of(wanted.base, len(wanted.items))
        certain = [unit for equation, unit in found if same_symbol(equation.targets[0], wanted)]
        general = [
            unit
            for equation, unit in found
            if not board.is_certain(equation.targets[0]) and board.named_alike(equation.targets[0], wanted)
        ]
        return [*certain, *general]


def define(board: PartBoard) -> Definitions:
    """Create a vertex for each line (h_j, m_j = lstm(…)) and each symbol.

    An initial value (s_0 for s_t) gets its own vertex if it is computed; a constant joins the others.
    """
    made = Definitions([], {})
    by_symbol: dict[tuple[str, int, str], list[Equation]] = {}
    together: dict[str, Vertex] = {}
    for equation in board.equations:
        target = equation.targets[0]
        key = target.base, len(target.items), board.labels(target)
        by_symbol.setdefault(key, []).append(equation)
    for (base, arity, labels), found in by_symbol.items():
        general = [one for one in found if not board.is_certain(one.targets[0])]
        for equation in [*general, *(one for one in found if one not in general)]:
            target = equation.targets[0]
            apart = board.is_certain(target) and (
                not general or (_computes(board, equation) and board.recurs(base))
            )
            place = equation.text if apart else f"{base}/{arity}/{labels}"
            unit = together.get(equation.text) or together.get(place)
            if unit is None:
                symbol = written_symbol(target)
                unit = Vertex(f"{board.key}/{symbol}", board.key, symbol, target=target)
                made.units.append(unit)
            together[equation.text] = together[place] = unit
            if not apart and general and unit.target is not None and board.is_certain(unit.target):
                unit.target, unit.symbol = general[0].targets[0], written_symbol(general[0].targets[0])
            if equation.text not in unit.lines:
                unit.lines.append(equation.text)
            if equation not in unit.equations:
                unit.equations.append(equation)
            made.found.setdefault((base, arity), []).append((equation, unit))
    for unit in made.units:
        unit.indices = () if unit.target is None else board.indices(unit.target)
    return made


def _computes(board: PartBoard, equation: Equation) -> bool:
    """Whether an initial value is more than a constant: it has weights, or depends on other symbols."""
    itself = equation.targets[0].base
    others = (
        one
        for one in said_symbols(equation.body)
        if one.base not in board.lines.ranges and one.base != itself
    )
    return any(board.is_weight(one) or board.is_known(one) for one in others)
