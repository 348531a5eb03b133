"""Dependency arcs above a sentence: the best tree with its marginals, and missed true arcs below."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.inspect.arc_drawing import COLORS, DASHES, MEANINGS, ROOT, cross, draw_arcs, word_at
from regard.inspect.arc_layout import arcs_above, arcs_below, arcs_outside
from regard.inspect.content import ArcDiagram, Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.scene import Mark, Scene, Text, line
from regard.inspect.writing import text_width
from regard.trace import Array, Trace
from regard.trace.structures import Arcs, Places


def arcs(
    trace: Trace, *, over: str | None = None, matrix: bool = False, threshold: float = 0.15, title: str = ""
) -> Scene:
    """The tree over an input: arcs from heads to children, with their marginals as strength.

    over        the input to show if several have arcs; default: the first
    matrix      also show all marginals as a matrix, heads by words
    threshold   minimum marginal of other arcs, the strongest of which are dotted
    """
    found = {name: one for name, one in trace.structures.items() if isinstance(one, Arcs)}
    name = over if over is not None else next(iter(found), None)
    if name is None or name not in found:
        raise RegardError(f"the trace has no arcs over {name!r}; it has: {', '.join(found) or 'none'}.")
    diagram = ArcDiagram(tuple(trace.input[name]), found[name], threshold=threshold)
    blocks = [draw_arcs(diagram), *arc_legend([diagram])]
    if matrix:
        known = diagram.arcs.true_heads is not None
        table = marginal_matrix(diagram)
        scale = color_scale(name="marginal", truth=known, zeros=table.has_zeros)
        blocks += [draw_matrix(table), scale]
    return frame(below(blocks, gap=16), title=title, description=tell_arcs(diagram))


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


def tell_arcs(diagram: ArcDiagram) -> str:
    """The best tree in words, and how much of it is correct."""
    parts = []
    for arc in arcs_above(diagram):
        if arc.role != "other":
            number = f" ({arc.strength:.2f})" if arc.known else ""
            relation = f" as {arc.label}" if arc.label else ""
            parts.append(f"{word_at(diagram, arc.child)} ← {word_at(diagram, arc.head)}{relation}{number}")
    score = ""
    if diagram.arcs.true_heads is not None:
        pairs = zip(diagram.arcs.heads.tolist(), diagram.arcs.true_heads.tolist(), strict=True)
        right = [head == true for head, true in pairs if true >= 0]
        score = f" {sum(right)} of {len(right)} heads are true."
    return f"Heads: {'; '.join(parts) or 'none'}.{score}"


def arc_legend(diagrams: Sequence[ArcDiagram]) -> list[Block]:
    """The legend of line styles, if there is more than one."""
    roles = {arc.role for diagram in diagrams for arc in (*arcs_above(diagram), *arcs_below(diagram))}
    if roles <= {"best"}:
        return []
    marks: list[Mark] = []
    x = 0.0
    outside = [len(arcs_outside(diagram)) for diagram in diagrams]
    drawn = [sum(arc.role == "other" for arc in arcs_above(diagram)) for diagram in diagrams]
    for role in (role for role in MEANINGS if role in roles):
        meaning = MEANINGS[role]
        if role == "other" and outside != drawn:
            meaning += f" ({sum(drawn)} of {sum(outside)})"
        marks.append(line(x, 6, x + 30, 6, color=COLORS[role], width=1.6, dashes=DASHES[role]))
        marks += cross(x + 15, 6) if role == "wrong" else []
        marks.append(Text(x + 37, 10, meaning, size=11, color="muted"))
        x += 37 + text_width(meaning, 11) + 20
    return [Block(tuple(marks), x - 20, 13.0)]
