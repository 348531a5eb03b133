"""Vertices for embedding tables that are looked up within larger expressions: E_y[y_{t−1}] as an input of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from regard.describe.graph.part_board import GIVEN, PartBoard
from regard.describe.vertices import Arrow, Vertex
from regard.notation import Equation, Item, Symbol, symbols
from regard.notation.walking import calls_in, items_in, node_text, said_symbols, written_symbol


@dataclass
class Tables:
    """The tables with their own vertex: their names, vertices, and the arrows to their users."""

    names: set[str] = field(default_factory=set)
    units: list[Vertex] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)

    def have(self, entry: Item) -> bool:
        """Whether an entry belongs to one of these tables."""
        return isinstance(entry.of, Symbol) and _name(entry.of) in self.names


def look_up(board: PartBoard, units: Sequence[Vertex]) -> Tables:
    uses: dict[str, list[tuple[Vertex, Item]]] = {}
    for unit in units:
        for equation in unit.equations:
            for entry in items_in(equation.body):
                of = entry.of
                if isinstance(of, Symbol) and board.is_table(of) and _reads_given(entry):
                    uses.setdefault(_name(of), []).append((unit, entry))
    tables = Tables()
    for name, found in uses.items():
        users = {unit.key for unit, _ in found}
        if len(users) == 1 and not _depends(board, found[0][0]):
            continue  # x_j = E_x[w_j]: the vertex of x_j is that of the table
        entries = [entry for _, entry in found]
        texts = list(dict.fromkeys(map(node_text, entries)))
        inner = [one.base for entry in entries for one in symbols(entry.items)]
        unit = Vertex(
            f"{board.key}/{name}",
            board.key,
            texts[-1],
            lines=[", ".join(texts)] if len(texts) > 1 else [],
            indices=tuple(dict.fromkeys(one for one in inner if one in board.lines.ranges)),
            equations=[Equation((Symbol(name),), entries[0], (), "")],
        )
        tables.names.add(name)
        tables.units.append(unit)
        tables.arrows += [Arrow(unit.key, key, unit.symbol) for key in sorted(users)]
    return tables


def _name(table: Symbol) -> str:
    """The name of a table, with the primes of its part."""
    return written_symbol(table)


def _reads_given(entry: Item) -> bool:
    """Whether an entry is that of a unit of the input or the output: E_x[w_j], E_y[y_{t−1}]."""
    return any(one.base.replace("′", "") in GIVEN for one in symbols(entry.items))


def _depends(board: PartBoard, unit: Vertex) -> bool:
    """Whether a vertex is computed by a cell, or from other computed symbols."""
    for equation in unit.equations:
        if any(call.base in board.cells for call in calls_in(equation.body)):
            return True
        others = [one for one in said_symbols(equation.body) if not board.is_weight(one)]
        if any(board.is_known(one) and one.base != equation.targets[0].base for one in others):
            return True
    return False
