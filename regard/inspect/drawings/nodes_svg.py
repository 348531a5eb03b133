"""A tree over words: every node with its label or attention weight, the words at the leaves.

The tree is upright, with the words at the bottom, if there is room. A wide tree is drawn sideways, one word per line.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.inspect.handles import Handle, WeightHandle, WordHandle
from regard.inspect.layout import WIDEST, Block, color_scale
from regard.inspect.palette import Color, Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text, line
from regard.inspect.writing import text_width, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.nodes import NodeDiagram

SIZE = 14.0
HIGH = 22.0
"""Height of a node."""
STEP = 46.0
"""Distance from a node to its children in an upright tree; `ASIDE` is that of a sideways tree."""
ASIDE = 24.0
LINE = 26.0
"""Distance between words in a sideways tree."""


def draw_nodes(diagram: NodeDiagram) -> Block:
    """The tree as a block."""
    words = diagram.leaves
    pitch = [
        max(text_width(visible(diagram.words[place]), SIZE), _wide(diagram, place)) + 14 for place in words
    ]
    if not words:
        return Block((Text(0, 14, "nothing to show", size=13, color="muted", italic=True),), 110, 20)
    return _upright(diagram, pitch) if sum(pitch) <= WIDEST * 0.75 else _sideways(diagram)


def _upright(diagram: NodeDiagram, pitch: list[float]) -> Block:
    top = 24.0 if diagram.title else 0.0
    x, at = {}, 0.0
    for place, wide in zip(diagram.leaves, pitch, strict=True):
        x[place] = at + wide / 2
        at += wide
    deepest = max(diagram.depths)
    y = {place: top + HIGH / 2 + diagram.depths[place] * STEP for place in range(len(diagram.words))}
    for place in diagram.leaves:
        y[place] = top + HIGH / 2 + deepest * STEP
    for place, below in enumerate(diagram.children):
        if below:
            x[place] = sum(x[child] for child in below) / len(below)
    marks: list[Mark] = [Text(0, 12, diagram.title, size=13, bold=True)] if diagram.title else []
    for place, below in enumerate(diagram.children):
        for child in below:
            # Down by one level, then straight: a line to a far leaf crosses no other word. It ends above a word.
            bend = min(y[place] + STEP, y[child])
            bare = not diagram.children[child] and not _said(diagram, child)
            marks.append(line(x[place], y[place], x[child], bend - (HIGH / 2 if bare and bend == y[child] else 0),
                              color="muted"))  # fmt: skip
            if bend < y[child]:
                end = y[child] - (HIGH / 2 if bare else 0)
                marks.append(line(x[child], bend, x[child], end, color="muted"))
    for place, word in enumerate(diagram.words):
        marks += _node(diagram, place, x[place], y[place])
        if not diagram.children[place]:
            under = y[place] + (HIGH / 2 + 16 if _said(diagram, place) else 5)
            leaf = WordHandle(diagram.over, place) if diagram.over else None
            marks.append(Text(x[place], under, visible(word), size=SIZE, anchor="middle", at=leaf))
    height = top + deepest * STEP + HIGH + 24
    return Block((Group(tuple(marks), kind="nodes", content=diagram),), at, height, baseline=top)


def _sideways(diagram: NodeDiagram) -> Block:
    """Parents to the left of their children, joined by right-angled lines."""
    top = 24.0 if diagram.title else 0.0
    wide = max(_wide(diagram, place) for place in range(len(diagram.words)))
    step = wide + ASIDE
    x = [depth * step + wide / 2 for depth in diagram.depths]
    y = [0.0] * len(diagram.words)
    for row, place in enumerate(diagram.leaves):
        y[place] = top + HIGH / 2 + row * LINE
    marks: list[Mark] = [Text(0, 12, diagram.title, size=13, bold=True)] if diagram.title else []
    for place, below in enumerate(diagram.children):
        if below:
            y[place] = (y[below[0]] + y[below[-1]]) / 2
            turn = x[place] + wide / 2 + ASIDE / 2
            marks.append(line(x[place], y[place], turn, y[place], color="muted"))
            marks.append(line(turn, y[below[0]], turn, y[below[-1]], color="muted"))
            for child in below:
                bare = not diagram.children[child] and not _said(diagram, child)
                end = x[child] - (wide / 2 + 4 if bare else 0)  # a word without a box starts here
                marks.append(line(turn, y[child], max(turn, end), y[child], color="muted"))
    widest = 0.0
    for place, word in enumerate(diagram.words):
        marks += _node(diagram, place, x[place], y[place])
        if not diagram.children[place]:
            start = x[place] + (wide / 2 + 6 if _said(diagram, place) else -wide / 2)
            leaf = WordHandle(diagram.over, place) if diagram.over else None
            marks.append(Text(start, y[place] + SIZE * 0.35, visible(word), size=SIZE, at=leaf))
            widest = max(widest, start + text_width(visible(word), SIZE))
    height = top + (len(diagram.leaves) - 1) * LINE + HIGH
    return Block((Group(tuple(marks), kind="nodes", content=diagram),), widest + 4, height, baseline=top)


def _said(diagram: NodeDiagram, place: int) -> str:
    return diagram.note(place)


def _wide(diagram: NodeDiagram, place: int) -> float:
    return max(HIGH, text_width(_said(diagram, place), 12) + 12)


def _node(diagram: NodeDiagram, place: int, x: float, y: float) -> list[Mark]:
    said, wide = _said(diagram, place), _wide(diagram, place)
    tip = " · ".join(filter(None, (visible(diagram.phrases[place]), diagram.told(place))))
    tags = (("node", str(place)),)
    if not said:
        leaf = not diagram.children[place]
        return [] if leaf else [Rect(x - 4, y - 4, 8, 8, fill="muted", radius=4, tip=tip, tags=tags)]
    shade = None if diagram.nodes.weights is None else Shade(diagram.share(place))
    wrong = diagram.wrong(place)
    ink: Color = "ink" if shade is None else Over(shade)
    return [
        Rect(
            x - wide / 2, y - HIGH / 2, wide, HIGH, fill="paper" if shade is None else shade,
            stroke="truth" if wrong else "muted", stroke_width=2.25 if wrong else 1.0, radius=6, tip=tip, tags=tags,
            at=_handle(diagram, place),
        ),
        Text(x, y + 4.5, said, size=12, anchor="middle", color=ink, bold=shade is None),
    ]  # fmt: skip


def _handle(diagram: NodeDiagram, place: int) -> Handle | None:
    if not diagram.over or diagram.nodes.weights is None:
        return None
    return WeightHandle(diagram.over, 0, place, float(diagram.nodes.weights[place]))


def node_legend(shown: Sequence[NodeDiagram]) -> list[Block]:
    """The legend of shades and outlines; empty if there are none."""
    limit = max((diagram.limit for diagram in shown if diagram.nodes.weights is not None), default=0.0)
    wrong = any(diagram.wrong(place) for diagram in shown for place in range(len(diagram.words)))
    blocks = [color_scale(name="weight", limit=round(limit, 3))] if limit else []
    if wrong:
        text = "wrong label ≠ true label"
        marks: tuple[Mark, ...] = (
            Rect(1, 0, 10, 10, stroke="truth", stroke_width=1.75, radius=2),
            Text(17, 9, text, size=11, color="muted"),
        )
        blocks.append(Block(marks, 17 + text_width(text, 11), 11))
    return blocks
