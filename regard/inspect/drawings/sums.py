"""The sums behind a structure, step by step: forward-backward of chains, inside-outside of trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.forward_backward import InsideSums, forward, marginals, normalized, pair_marginals
from regard.inspect.grid import draw_matrix
from regard.inspect.head_drawing import draw_heads
from regard.inspect.layout import Block, below, color_scale, frame
from regard.inspect.scene import Scene
from regard.inspect.writing import visible
from regard.parts import register
from regard.trace import Array, Panel, Potentials, Trace

MOST_STEPS = 40
"""Steps that are drawn; of more, some are left out."""
MOST_WORDS = 40
"""Words of the longest sentence whose trees are summed here."""
CLOSE = 1e-3
"""Difference to the model's own marginals up to which the sums are those of the model."""


@register("drawing", "sums")
@dataclass(frozen=True, eq=False)
class Sums(TracedDrawing):
    """The marginals that the scores of a structure give; its panels show how they are computed."""

    rank: ClassVar[int] = 52
    field: ClassVar[str] = "potentials"

    found: Potentials
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    title: str = ""

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> Sums:
        found = trace.potentials[name]
        if found.form == "trees":
            words = ("root", *trace.input[name])
            return cls(found, words, words, view.title)
        if found.form == "chains":
            return cls(found, tuple(trace.output), tuple(trace.input[name]), view.title)
        count, labels = found.nodes.shape
        steps = found.steps or tuple(str(step + 1) for step in range(count))
        names = tuple(found.labels) or tuple(map(str, range(1, labels + 1)))
        return cls(found, names, tuple(steps), view.title)

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        return name in trace.potentials

    @classmethod
    def panels(cls, trace: Trace) -> Sequence[Panel]:
        made: list[Panel] = []
        for name, found in trace.potentials.items():
            if not found.nodes.size or _others(trace, name, found):
                continue
            one, of = cls.of(trace, name), f" over {name}" if len(trace.potentials) > 1 else ""
            if found.form == "trees":
                chart = _chart(trace, name, found.nodes)
                if chart is not None:
                    steps = partial(one.tree_steps, chart)
                    made.append(Panel(f"inside-outside{of}", f"Inside-outside{of}", steps, stepwise=True))
                continue
            made.append(
                Panel(f"forward-backward{of}", f"Forward-backward{of}", one.chain_steps, stepwise=True)
            )
            if found.form == "chain" and found.pairs is not None and len(found.nodes) > 1:
                made.append(Panel(f"pairs{of}", f"Marginals of pairs{of}", one.pairs))
        return made

    def block(self) -> Block:
        found = self.found
        if found.form == "trees":
            return self._matrix(InsideSums(found.nodes, one_root=False).arcs, "marginals", "heads", "words")
        return self._chain(marginals(found), "marginals")

    def description(self) -> str:
        found = self.found
        if found.form == "trees":
            return f"Sums over all trees of {len(found.nodes) - 1} words."
        best = marginals(found)
        if found.form == "chains":
            return f"Sums over all segmentations, for {len(best)} output pieces."
        told = [
            f"{visible(step)}: {visible(self.rows[int(row.argmax())])} ({row.max():.2f})"
            for step, row in zip(self.columns, best, strict=True)
        ]
        return f"Most probable labels: {'; '.join(told)}."

    def chain_steps(self) -> list[Scene]:
        """Forward from the first position, then backward from the last."""
        found = self.found
        ahead, whole = normalized(forward(found)), marginals(found)
        count, scenes = found.nodes.shape[-2], []
        named = "marginals p(z_j = 1)" if found.form == "chains" else "marginals"
        for step in _some(count):
            shown = np.where((np.arange(count) <= step)[:, None], ahead, 0.0)
            told = f"forward to {visible(self.columns[step])}: what the positions up to each one say"
            scenes.append(self._scene(self._chain(shown, told), told))
        for step in reversed(_some(count)):
            shown = np.where((np.arange(count) >= step)[:, None], whole, ahead)
            told = f"backward to {visible(self.columns[step])}: {named} from here on, by all positions"
            scenes.append(self._scene(self._chain(shown, told), told))
        return scenes

    def tree_steps(self, chart: InsideSums) -> list[Scene]:
        """Inside sums from narrow to wide spans, then the arcs from long to short ones."""
        size = len(self.rows)
        starts, ends = np.indices((size, size))
        sums = np.logaddexp(*chart.complete)
        np.fill_diagonal(sums, 0.0)  # a word alone is one subtree
        low, high = (float(edge) for edge in (sums[np.isfinite(sums)].min(), sums[np.isfinite(sums)].max()))
        scenes = []
        for width in _some(size):
            inside = (ends >= starts) & (ends - starts <= width) & np.isfinite(sums)
            told = f"inside, spans of up to {width + 1} words: log-sum over their subtrees"
            shades = np.where(inside, 0.15 + 0.85 * (sums - low) / (high - low or 1.0), 0.0)
            values = np.where(inside, sums, 0.0)
            block = self._matrix(values, told, "from", "to", shades=np.nan_to_num(shades), digits="{:.1f}")
            scenes.append(frame(block, description=told))
        for width in reversed(_some(size)[1:]):
            shown = np.where(np.abs(ends - starts) >= width, chart.arcs, 0.0)
            told = f"outside, arcs over {width} words or more: their marginals"
            scenes.append(self._scene(self._matrix(shown, told, "heads", "words"), told))
        return scenes

    def pairs(self) -> Scene:
        """p(label of a step, label of the next)."""
        rows = self.rows
        matrices = tuple(
            Matrix(rows, rows, table, title=f"{visible(self.columns[n])} → {visible(self.columns[n + 1])}",
                   row_name="first", column_name="then")
            for n, table in enumerate(pair_marginals(self.found))
        )  # fmt: skip
        panels = HeadPanels(matrices, title="marginals of two consecutive choices")
        scale = color_scale(name="marginal", zeros=any(one.has_zeros for one in matrices))
        return frame(
            below([draw_heads(panels, widest=1040.0), scale]), description=" ".join(self._likely(matrices))
        )

    def _likely(self, matrices: Sequence[Matrix]) -> Iterator[str]:
        for one in matrices:
            first, then = np.unravel_index(int(one.values.argmax()), one.values.shape)
            yield (
                f"{one.title}: {visible(self.rows[first])}, then {visible(self.rows[then])} "
                f"({one.values[first, then]:.2f})."
            )

    def _chain(self, values: Array, title: str) -> Block:
        """(N, C) labels by steps; of T chains, (T, N, C), the last label by output pieces."""
        table = values[..., -1] if self.found.form == "chains" else values.T
        across, down = ("positions", "output") if self.found.form == "chains" else ("steps", "labels")
        return self._matrix(table, title, down, across)

    def _matrix(
        self, values: Array, title: str, down: str, across: str, *, shades: Array | None = None,
        digits: str = "{:.2f}",
    ) -> Block:  # fmt: skip
        return draw_matrix(
            Matrix(self.rows, self.columns, values, title=title, row_name=down, column_name=across, shades=shades,
                   digits=digits)
        )  # fmt: skip

    def _scene(self, block: Block, told: str) -> Scene:
        return frame(below([block, color_scale(name="share")]), description=told)


def _some(count: int) -> list[int]:
    """Steps to draw: all, or evenly spaced ones with the first and the last."""
    return sorted({int(step) for step in np.linspace(0, count - 1, min(count, MOST_STEPS)).round()})


def _others(trace: Trace, name: str, found: Potentials) -> bool:
    """Whether a trace has marginals of these variables that do not come from these scores: a model may choose fewer
    facts."""
    known = getattr(trace.structures.get(name), "weights", None)
    if found.form != "chain" or known is None or known.shape != found.nodes.shape:
        return False
    return bool(np.abs(marginals(found) - known).max() >= CLOSE)


def _chart(trace: Trace, name: str, scores: Array) -> InsideSums | None:
    """The chart of projective trees whose marginals are those of the trace; None: it holds other trees."""
    marginal = getattr(trace.structures.get(name), "marginals", None)
    if marginal is None or not 2 <= len(scores) <= MOST_WORDS + 1:
        return None
    for one_root in (True, False):
        chart = InsideSums(scores, one_root=one_root)
        if np.abs(chart.arcs - marginal)[:, 1:].max() < CLOSE:
            return chart
    return None
