"""Segments of an input: below its pieces, a band for each output piece, shaded by p(inside)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text

from regard.inspect.drawings.drawing import PLAIN, TracedDrawing, View, held
from regard.inspect.drawings.panels import in_rows
from regard.inspect.drawings.segments_svg import draw_segments, runs, segment_legend
from regard.inspect.drawings.segments_terminal import draw_segments as terminal_segments
from regard.inspect.drawings.segments_terminal import segment_notes
from regard.inspect.layout import Block, below, frame
from regard.inspect.scene import Scene
from regard.inspect.writing import runs_right_to_left, visible
from regard.parts import register
from regard.trace import Segments, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink


@register("drawing", "segments")
@dataclass(frozen=True, eq=False)
class SegmentBands(TracedDrawing):
    """Below a line of source pieces, a band per target, shaded by p(inside), with its segments marked.

    limit   the weight with the full shade
    over    the input, in a live figure
    """

    rank: ClassVar[int] = 40
    traced = Segments
    lacking: ClassVar[str] = "has no segments over"

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    segments: Segments
    title: str = ""
    limit: float = 1.0
    over: str = ""

    @property
    def order(self) -> list[int]:
        """The sources from left to right."""
        places = list(range(len(self.sources)))
        return places[::-1] if runs_right_to_left(self.sources) else places

    def share(self, target: int, source: int) -> float:
        value = float(self.segments.weights[target, source])
        return 0.0 if np.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> SegmentBands:
        """The segments over an input, or its attention in the same form; with their truth, or that of the trace."""
        found: Any = trace.structures[name] if cls.shows(trace, name) else Segments(trace.attention[name])
        if found.truth is None and name in trace.truth:
            found = replace(found, truth=(trace.truth[name] > 0).astype(np.int64))
        return cls(tuple(trace.input[name]), tuple(trace.output), found, view.title, over=name)

    @classmethod
    def comparable(cls, trace: Trace, name: str) -> bool:
        return cls.shows(trace, name) or name in trace.attention

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        return ("attention",)

    def block(self, *, row_labels: bool = True) -> Block:
        return draw_segments(self, row_labels=row_labels)

    @classmethod
    def legend(cls, shown: Sequence[SegmentBands]) -> list[Block]:
        return [segment_legend(shown)]

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return terminal_segments(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[SegmentBands], width: int, ink: Ink) -> Iterator[Text]:
        return segment_notes([bands for bands in shown if bands.targets and bands.sources], width, ink)

    def truth_panel(self) -> SegmentBands | None:
        truth = self.segments.truth
        return None if truth is None else replace(self, segments=Segments(truth.astype(np.float64)), over="")

    @classmethod
    def arranged(cls, shown: Sequence[SegmentBands], across: int | None) -> Block:
        def draw(bands: SegmentBands, first: SegmentBands | None) -> Block:
            return bands.block(row_labels=first is None or bands.targets != first.targets)

        return below([in_rows(shown, draw, across), *cls.legend(shown)], gap=20)

    def description(self) -> str:
        """The segments of each output piece in words: the best ones, or positions with p(inside) above 1/2."""
        found = self.segments
        inside = found.best if found.best is not None else found.weights >= 0.5 * self.limit
        places = list(range(len(self.sources)))  # in reading order, whatever the drawing direction
        letters = all(len(source) <= 1 for source in self.sources)
        parts = []
        for row, target in enumerate(self.targets):
            texts = [
                "".join(map(visible, self.sources[first : last + 1])) if letters
                else " ".join(map(visible, self.sources[first : last + 1]))
                for first, last in runs(inside[row], places)
            ]  # fmt: skip
            named = f"{visible(target)} looks at" if target else "inside:"
            parts.append(f"{named} {', '.join(texts) or 'nothing'}")
        return "; ".join(parts) + "."


def segments(trace: Trace, *, over: str | None = None, title: str = "") -> Scene:
    """The attention of each output piece as segments of an input.

    over   the input to show if several have segments; default: the first
    """
    bands = SegmentBands.of(trace, held(trace, SegmentBands, over, "segments over"))
    block = below([bands.block(), *SegmentBands.legend([bands])], gap=16)
    return frame(block, title=title, description=bands.description())
