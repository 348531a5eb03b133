"""The shapes of the symbols that each vertex defines, as text: `S × 128`."""

from __future__ import annotations

from collections.abc import Iterable

from regard.describe.graph.part_board import PartBoard
from regard.describe.sizes import BoardSizes, Size
from regard.describe.vertices import Vertex
from regard.notation.walking import written_symbol


def measure(board: PartBoard, sizes: BoardSizes, units: Iterable[Vertex]) -> None:
    """Give each vertex the shapes of its symbols; initial values have the shape of the others."""
    for unit in units:
        for equation in unit.equations:
            target = equation.targets[0]
            if unit.target is None:  # a table
                unit.shapes[unit.symbol] = _shape(sizes, unit.indices, sizes.of(equation.body, {}))
            elif target == unit.target or not board.is_certain(target):
                own = (
                    sizes.of(equation.body, {}) if board.is_certain(target) else None
                )  # h_0j, the word vectors
                size = sizes.found.get(sizes.key(target)) if own is None else own
                unit.shapes[written_symbol(target)] = _shape(sizes, board.indices(target), size)


def _shape(sizes: BoardSizes, indices: Iterable[str], size: Size) -> str:
    """`S × 128`; a last dimension of 1 is left out; empty if the size is unknown."""
    if size is None:
        return ""
    sides = [sizes.length(index) for index in indices]
    sides += [] if size == 1 and sides else [size]
    if None in sides:
        return ""
    return " × ".join(f"{side:,}" if isinstance(side, int) else str(side) for side in sides)
