"""The tree of a search: time to the right, hypotheses below each other, the best on top; why each ended."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rich.cells import cell_len
from rich.text import Text as Line

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.handles import BranchHandle
from regard.inspect.layout import Block, frame
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Shape, Text
from regard.inspect.terminal.ink import Ink
from regard.inspect.writing import is_special, shorten, signed, text_width, visible
from regard.parts import register
from regard.trace import BeamTree, Panel, Trace

MOST = 60
"""Hypotheses that ended and are drawn; of more, the most probable."""
SIZE, ROW, GAP, TALL = 12.0, 24.0, 22.0, 18.0
START = "start"
LONGEST = 16
"""Maximum number of letters of a piece."""
SIGNS = {"end": "■", "pruned": "×", "limit": "▌", "alive": "…"}
MEANINGS = {"end": "ended", "pruned": "pruned", "limit": "ended at the limit", "alive": "still open"}


@register("drawing", "beam")
@dataclass(frozen=True, eq=False)
class BeamDrawing(TracedDrawing):
    """The hypotheses of a search. A piece is shaded by its probability after those before it."""

    rank: ClassVar[int] = 55
    field: ClassVar[str] = "beam"

    tree: BeamTree
    title: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str = "", view: View = PLAIN) -> BeamDrawing:
        if trace.beam is None:
            raise ValueError("the trace has no tree of the search")
        return cls(trace.beam, view.title)

    @classmethod
    def shows(cls, trace: Trace, name: str = "") -> bool:
        return trace.beam is not None

    @classmethod
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        if trace.beam is None:
            return []
        made = cls(trace.beam)
        return [
            Panel("beam", "The search as a tree", lambda: frame(made.block(), description=made.description()))
        ]

    def ordered(self) -> tuple[list[int], int]:
        """The hypotheses that are drawn, depth first, the best first; and how many ended ones are left out."""
        tree = self.tree
        children: dict[int, list[int]] = {}
        for number, parent in enumerate(tree.parents.tolist()):
            children.setdefault(parent, []).append(number)
        ended = [number for number in range(len(tree)) if tree.ended[number]]
        ranked = sorted(ended, key=lambda one: (tree.ranks[one] == 0, tree.ranks[one], -tree.scores[one]))
        kept = {step for one in ranked[:MOST] for step in tree.path(one)} | {0}
        best = np.full(len(tree), math.inf)  # the place of the best hypothesis that continues each
        for place, one in enumerate(ranked):
            for step in tree.path(one):
                best[step] = min(best[step], place)
        found, waiting = [], [0]
        while waiting:
            one = waiting.pop()
            found.append(one)
            below = [child for child in children.get(one, ()) if child in kept]
            waiting += sorted(below, key=lambda child: -best[child])
        return found, max(0, len(ranked) - MOST)

    def probability(self, number: int) -> float:
        """p(piece | the pieces before it)."""
        parent = int(self.tree.parents[number])
        gained = self.tree.scores[number] - (self.tree.scores[parent] if parent >= 0 else 0.0)
        return float(np.exp(min(0.0, gained))) if math.isfinite(gained) else 0.0

    def block(self) -> Block:
        order, more = self.ordered()
        tree, steps = self.tree, self.tree.steps
        wide = [0.0] * (int(steps.max()) + 1)
        for one in order:
            label = _label(tree.pieces[one]) if one else START
            wide[steps[one]] = max(wide[steps[one]], text_width(label, SIZE) + 14)
        left = np.cumsum([0.0, *(width + GAP for width in wide)])
        rows: dict[int, float] = {}
        y = 0.0
        marks: list[Mark] = []
        lines: list[Mark] = []
        widest = 0.0
        won = set(tree.path(int(np.flatnonzero(tree.ranks == 1)[0]))) if (tree.ranks == 1).any() else set()
        first: set[int] = set()
        for one in order:
            parent = int(tree.parents[one])
            if parent >= 0 and parent not in first:
                first.add(parent)  # the best continuation stays in the row of its parent
                rows[one] = rows[parent]
            else:
                y = y + ROW if rows else 0.0
                rows[one] = y
            x, top = float(left[steps[one]]), rows[one]
            if parent >= 0:
                lines.append(
                    _edge(float(left[steps[parent]]) + wide[steps[parent]], rows[parent], x, top, one in won)
                )
            marks.append(self._node(one, x, top, wide[steps[one]], one in won))
            if tree.ended[one]:
                told = f"{SIGNS[tree.ended[one]]} {signed(float(tree.scores[one]), 2)}"
                told += f"  #{tree.ranks[one]}" if tree.ranks[one] else ""
                color = "ink" if tree.ranks[one] else "muted"
                end = x + text_width(_label(tree.pieces[one]), SIZE) + 22
                marks.append(Text(end, top + 13, told, size=11, color=color, bold=bool(tree.ranks[one] == 1)))
                widest = max(widest, end + text_width(told, 12))
        height = y + ROW + 20
        legend = " · ".join(f"{SIGNS[why]} {MEANINGS[why]}" for why in SIGNS if why in tree.ended)
        legend += f" · {more} more are not drawn" if more else ""
        marks.append(Text(0, height - 2, f"log p at the end · {legend}", size=11, color="muted"))
        widest = max(widest, text_width(legend, 11) + 110, float(left[-1]))
        return Block((Group((*lines, *marks), kind="beam", content=self),), widest, height + 4)

    def _node(self, one: int, x: float, y: float, room: float, won: bool) -> Group:
        tree = self.tree
        if one == 0:
            marks: list[Mark] = [Text(x, y + 13, START, size=SIZE, color="muted", italic=True)]
            return Group(tuple(marks), kind="node", at=BranchHandle(()))
        share, piece = self.probability(one), tree.pieces[one]
        shade = Shade(share)
        width = text_width(_label(piece), SIZE) + 12
        marks = [
            Rect(x, y, width, TALL, fill=shade, radius=4, stroke="accent" if won else None, stroke_width=1.5),
            Text(x + 6, y + 13, _label(piece), size=SIZE, color=Over(shade), italic=is_special(piece)),
        ]
        why = f"\n{MEANINGS[tree.ended[one]]}" if tree.ended[one] else ""
        rank = f", answer {tree.ranks[one]}" if tree.ranks[one] else ""
        tip = f"{visible(piece)}  p {share:.2f}, log p so far {tree.scores[one]:.2f}{why}{rank}{self._looked(one)}"
        prefix = tuple(part for part in tree.prefix(one) if not is_special(part))
        return Group(tuple(marks), kind="node", tip=tip, at=BranchHandle(prefix))

    def _looked(self, one: int) -> str:
        """The most attended position of each input."""
        told = [
            f"\n{name}: most attended position {int(rows[one].argmax()) + 1} ({rows[one].max():.2f})"
            for name, rows in self.tree.attention.items()
            if rows.shape[1]
        ]
        return "".join(told)

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        """One line for each hypothesis that ended: what it adds to the one above, its log p, and why it ended."""
        order, more = self.ordered()
        tree, steps = self.tree, self.tree.steps
        wide = [0] * (int(steps.max()) + 1)
        for one in order[1:]:
            wide[steps[one]] = max(wide[steps[one]], cell_len(_label(tree.pieces[one])) + 1)
        starts = np.cumsum([0, *wide])
        line = Line()
        for one in order[1:]:
            if not line.plain:
                at = int(starts[steps[one]])
                line = Line(("└ ".rjust(at) if steps[one] > 1 else "")[:width], style=ink.style("muted"))
                line.pad_right(max(0, at - line.cell_len))
            bold = bool(tree.ranks[one] == 1)
            line.append(_label(tree.pieces[one]), style=ink.on(self.probability(one), bold=bold))
            line.append(" " * max(1, int(starts[steps[one] + 1]) - line.cell_len))
            if tree.ended[one]:
                rank = f" #{tree.ranks[one]}" if tree.ranks[one] else ""
                told = f"{SIGNS[tree.ended[one]]} {tree.scores[one]:.2f}{rank}"
                line.append(told, style=ink.style("ink" if rank else "muted", bold=bold))
                line.truncate(width, overflow="ellipsis")
                yield line
                line = Line()
        known = "  ".join(f"{SIGNS[why]} {MEANINGS[why]}" for why in SIGNS if why in tree.ended)
        yield Line(
            shorten(known + (f"  {more} more are not shown" if more else ""), width), style=ink.style("muted")
        )

    def description(self) -> str:
        tree = self.tree
        ranked = sorted((int(rank), number) for number, rank in enumerate(tree.ranks) if rank)
        answers = "; ".join(
            f"{rank}. {' '.join(map(visible, tree.prefix(number)))} ({tree.scores[number]:.2f})"
            for rank, number in ranked
        )
        counts = ", ".join(f"{tree.ended.count(why)} {MEANINGS[why]}" for why in SIGNS if why in tree.ended)
        return f"A {tree.method} search of {len(tree) - 1} hypotheses: {counts}. Answers: {answers}."


def _label(piece: str) -> str:
    return shorten(visible(piece), LONGEST)


def _edge(x1: float, y1: float, x2: float, y2: float, won: bool) -> Shape:
    middle = x2 - GAP / 2
    y1, y2 = y1 + TALL / 2, y2 + TALL / 2
    color, width = ("accent", 2.0) if won else ("faint", 1.5)
    return Shape((("M", (x1, y1)), ("C", (middle, y1, middle, y2, x2, y2))), stroke=color, width=width)
