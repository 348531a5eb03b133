"""Dependency arcs above a sentence: the best tree with its marginals, and missed true arcs below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text as Line

from regard.inspect.drawings.arcs_layout import arcs_above, arcs_below, arcs_outside
from regard.inspect.drawings.arcs_svg import COLORS, DASHES, MEANINGS, ROOT, cross, draw_arcs, word_at
from regard.inspect.drawings.arcs_terminal import draw_arcs as terminal_arcs
from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View, held
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.scene import Mark, Scene, Text, line
from regard.inspect.section import Card, PageSection
from regard.inspect.writing import text_width
from regard.parts import register
from regard.trace import Arcs, Array, Trace
from regard.trace.structure import Places

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink


@register("drawing", "arcs")
@dataclass(frozen=True, eq=False)
class ArcDiagram(TracedDrawing):
    """A sentence with an arc from the head of each word to the word.

    threshold   minimum marginal of arcs that are shown outside the best tree
    over        the input, in a live figure
    """

    rank: ClassVar[int] = 35
    traced = Arcs
    lacking: ClassVar[str] = "has no arcs over"
    links: ClassVar[bool] = True

    words: tuple[str, ...]
    arcs: Arcs
    title: str = ""
    threshold: float = 0.15
    over: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> ArcDiagram:
        found: Any = trace.structures[name]
        return cls(tuple(trace.input[name]), found, title=view.title, over=name)

    def block(self) -> Block:
        return draw_arcs(self)

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return terminal_arcs(self, width, ink)

    def description(self) -> str:
        """The best tree in words, and how much of it is correct."""
        parts = []
        for arc in arcs_above(self):
            if arc.role != "other":
                number = f" ({arc.strength:.2f})" if arc.known else ""
                relation = f" as {arc.label}" if arc.label else ""
                parts.append(f"{word_at(self, arc.child)} ← {word_at(self, arc.head)}{relation}{number}")
        score = ""
        if self.arcs.true_heads is not None:
            pairs = zip(self.arcs.heads.tolist(), self.arcs.true_heads.tolist(), strict=True)
            right = [head == true for head, true in pairs if true >= 0]
            score = f" {sum(right)} of {len(right)} heads are true."
        return f"Heads: {'; '.join(parts) or 'none'}.{score}"

    @classmethod
    def legend(cls, shown: Sequence[ArcDiagram]) -> list[Block]:
        """The legend of line styles, if there is more than one."""
        roles = {arc.role for diagram in shown for arc in (*arcs_above(diagram), *arcs_below(diagram))}
        if roles <= {"best"}:
            return []
        marks: list[Mark] = []
        x = 0.0
        outside = [len(arcs_outside(diagram)) for diagram in shown]
        drawn = [sum(arc.role == "other" for arc in arcs_above(diagram)) for diagram in shown]
        for role in (role for role in MEANINGS if role in roles):
            meaning = MEANINGS[role]
            if role == "other" and outside != drawn:
                meaning += f" ({sum(drawn)} of {sum(outside)})"
            marks.append(line(x, 6, x + 30, 6, color=COLORS[role], width=1.6, dashes=DASHES[role]))
            marks += cross(x + 15, 6) if role == "wrong" else []
            marks.append(Text(x + 37, 10, meaning, size=11, color="muted"))
            x += 37 + text_width(meaning, 11) + 20
        return [Block(tuple(marks), x - 20, 13.0)]

    def truth_panel(self) -> ArcDiagram | None:
        if self.arcs.true_heads is None:
            return None
        return replace(self, arcs=Arcs(self.arcs.true_heads, relations=self.arcs.true_relations))

    def sections(self, trace: Trace, name: str, heading: str) -> list[PageSection]:
        """All marginals of the tree."""
        if self.arcs.marginals is None or not self.words:
            return []
        text = "p(the word of the row is the head of the word of the column), summed over all trees."
        card = Card(frame(below(self._matrix())), heading=heading)
        return [PageSection("Marginals", text, figures=[card])]

    def _matrix(self) -> list[Block]:
        table = marginal_matrix(replace(self, title=""))
        known = self.arcs.true_heads is not None
        return [draw_matrix(table), color_scale(name="marginal", truth=known, zeros=table.has_zeros)]


def arcs(
    trace: Trace, *, over: str | None = None, matrix: bool = False, threshold: float = 0.15, title: str = ""
) -> Scene:
    """The tree over an input: arcs from heads to children, with their marginals as strength.

    over        the input to show if several have arcs; default: the first
    matrix      also show all marginals as a matrix, heads by words
    threshold   minimum marginal of other arcs, the strongest of which are dotted
    """
    name = held(trace, ArcDiagram, over, "arcs over")
    diagram = replace(ArcDiagram.of(trace, name), threshold=threshold)
    blocks = [diagram.block(), *ArcDiagram.legend([diagram])]
    if matrix:
        blocks += diagram._matrix()
    return frame(below(blocks, gap=16), title=title, description=diagram.description())


def marginal_matrix(diagram: ArcDiagram) -> Matrix:
    """All marginals, heads by words, with the true heads outlined; the best tree if no marginals are known."""
    count, truth = len(diagram.words), diagram.arcs.true_heads
    values = diagram.arcs.marginals
    if values is None:
        values = _one_hot(diagram.arcs.heads, count)
    return Matrix(
        rows=(ROOT, *diagram.words),
        columns=diagram.words,
        values=np.where(np.eye(count + 1, dtype=bool), 0.0, values)[:, 1:],
        truth=None if truth is None else _one_hot(truth, count)[:, 1:],
        title=diagram.title,
        row_name="head",
        column_name="word",
    )


def _one_hot(heads: Places, count: int) -> Array:
    """(N+1, N+1) with a 1 at [head of m, m]."""
    table = np.zeros((count + 1, count + 1))
    for child, head in enumerate(heads.tolist(), 1):
        if head >= 0:
            table[head, child] = 1.0
    return table
