"""The graph of one part, step by step."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from regard.describe.graph.assigning import assign_weights
from regard.describe.graph.defining import Definitions, define
from regard.describe.graph.folding import Draft, drop_constants, drop_layers, fold, merge_alike
from regard.describe.graph.given import with_given
from regard.describe.graph.insides import insides
from regard.describe.graph.latent import mark_latent
from regard.describe.graph.linking import link
from regard.describe.graph.part_board import PartBoard
from regard.describe.graph.shapes import measure
from regard.describe.graph.tables import look_up
from regard.describe.sizes import BoardSizes, Known
from regard.describe.vertices import Arrow, GraphPart, Vertex, in_order
from regard.notation import Symbol


@dataclass
class PartGraph:
    """A part with its arrows, and the sizes and definitions of its symbols, for the parts after it."""

    part: GraphPart
    arrows: list[Arrow]
    sizes: Known
    board: PartBoard
    definitions: Definitions

    def definer(self, wanted: Symbol) -> Vertex | None:
        """The vertex that defines a symbol."""
        found = self.definitions.definers(self.board, wanted)
        return next((unit for unit in found if unit in self.part.units), None)


@dataclass(frozen=True)
class Names:
    """The names of a part: its title and options, and the name and description of its column."""

    title: str
    options: str
    column: str
    described: str


def part_graph(
    board: PartBoard, names: Names, known: Known, vocabulary: str = "", grown: Collection[str] = ()
) -> PartGraph:
    """The vertices of a part in the order of computation, the arrows between them, and the insides of its cells.

    known        sizes of the symbols of other parts
    vocabulary   the size of the output's vocabulary, as written
    grown        the parameters with a row for each of its units
    """
    definitions = define(board)
    tables = look_up(board, definitions.units)
    units = [*definitions.units, *tables.units]
    units += assign_weights(board, definitions, units)
    arrows = tables.arrows + link(board, definitions)
    mark_latent(board, units, arrows)
    draft = Draft(units, arrows, definitions)
    fold(board, tables, draft)
    drop_constants(board, tables, draft)
    merge_alike(board, draft)
    drop_layers(board, draft)
    units, arrows = with_given(board, tables, draft.units, draft.arrows, names.column, names.described)
    sizes = BoardSizes(board, known, vocabulary, grown)
    measure(board, sizes, units)
    part = GraphPart(
        board.key,
        names.title,
        names.options,
        board.lines.ranges,
        board.own,
        in_order(units, arrows),
        insides(board, sizes),
        fixed=board.fixed(),
    )
    return PartGraph(part, arrows, sizes.found, board, definitions)
