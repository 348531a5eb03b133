"""Attention to a series of vectors: the vectors as an image (for audio, the spectrogram), or as curves if they have few
numbers; the time axis, and below them a row of shaded cells for each output piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text as Line

from regard.inspect.axes import Axes, tick_text, ticks
from regard.inspect.axes import label_room as label_room_of
from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.input_attention import TimedAttention
from regard.inspect.drawings.timeline_svg import draw_rows, label_room, tell_rows, time_legend
from regard.inspect.drawings.timeline_terminal import draw_series as terminal_series
from regard.inspect.drawings.timeline_terminal import time_notes
from regard.inspect.handles import PlaneHandle
from regard.inspect.layout import Block
from regard.inspect.palette import series_color
from regard.inspect.raster import png, shaded_pixels
from regard.inspect.scene import Anchor, Circle, Group, Image, Mark, Text, line, polyline
from regard.inspect.writing import text_width
from regard.parts import register
from regard.trace import Array, SeenSeries, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

WIDEST, NARROWEST = 820.0, 460.0
FEW = 3
"""Maximum number of features of a series that is drawn as curves."""
FINEST = 800
"""Maximum number of frames of a spectrogram in a file; with more, neighbors are averaged."""


@register("drawing", "series")
@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesAttention(TimedAttention):
    """Vectors in time (F, D), such as those of audio, low frequencies first, and the attention of each piece over time.

    seconds   the duration; 0 if unknown
    """

    rank: ClassVar[int] = 94
    traced = SeenSeries

    values: Array  # (F, D)
    seconds: float = 0.0

    @property
    def few(self) -> bool:
        """Whether the vectors have so few numbers that curves show them better than shades."""
        return 0 < int(self.values.shape[1]) <= FEW

    @property
    def strengths(self) -> Array:
        """(D, F), last feature at the top: the values from their 2nd to their 99th percentile, scaled to 0 … 1."""
        values = np.nan_to_num(self.values)
        low, high = np.percentile(values, [2, 99]) if values.size else (0.0, 1.0)
        return np.clip((values.T[::-1] - low) / max(high - low, 1e-9), 0.0, 1.0)

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> SeriesAttention:
        what: Any = trace.seen[name]
        return cls(values=what.values, seconds=what.seconds, **cls.weighted(trace, name, view))

    def block(self) -> Block:
        return _draw(self)

    def description(self) -> str:
        lasting = f" over {self.seconds:.2f} seconds" if self.seconds > 0 else ""
        return tell_rows(self) or f"A series of {len(self.values)} vectors{lasting}."

    def when(self, position: int) -> str:
        if self.seconds <= 0:
            return self.frames_at(position, len(self.values), 0)
        begin, end = float(self.bounds[position]), float(self.bounds[position + 1])
        return f"{begin * self.seconds:.2f} to {end * self.seconds:.2f} s"

    @classmethod
    def legend(cls, shown: Sequence[SeriesAttention]) -> list[Block]:
        attended = [attention for attention in shown if attention.words]
        return [time_legend(attended)] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return terminal_series(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[SeriesAttention], width: int, ink: Ink) -> Iterator[Line]:
        return time_notes(shown, width, ink)


def _draw(attention: SeriesAttention) -> Block:
    """The spectrogram with the rows below; the baseline is its upper edge."""
    frames = len(attention.values)
    width = min(WIDEST, max(NARROWEST, 4.0 * frames)) * (0.6 if attention.small else 1.0)
    high = 64.0 if attention.small else 110.0
    left = max(label_room(attention), 0.0)
    top = 24.0 if attention.title else 0.0
    marks: list[Mark] = [Text(left, 12, attention.title, size=13, bold=True)] if attention.title else []
    if frames and attention.few:
        room = curve_room(attention)
        left = max(left, room)
        marks += _curves(attention, left, width, top, high)
    elif frames:
        at = PlaneHandle(attention.over, None) if attention.over else None
        marks.append(Image(left, top, width, high, png(spectrogram(attention)), smooth=True, at=at))
    else:
        marks.append(Text(left, top + 16, "nothing to show", size=13, color="muted", italic=True))
    marks += _seconds(attention, left, width, top + high)
    rows = draw_rows(attention, left, width, top + high + 26)
    marks += rows.marks
    group = Group(tuple(marks), kind="series", content=attention)
    height = rows.height if attention.words else top + high + 20
    return Block((group,), max(rows.width, left + text_width(attention.title, 15)), height, baseline=top)


def curve_room(attention: SeriesAttention) -> float:
    """The width of the numbers beside curves."""
    return label_room_of(_value_ticks(attention))


def _value_ticks(attention: SeriesAttention) -> list[float]:
    finite = attention.values[np.isfinite(attention.values)]
    return ticks(float(finite.min()), float(finite.max()), count=3) if finite.size else [0.0, 1.0]


def _curves(attention: SeriesAttention, left: float, width: float, top: float, high: float) -> list[Mark]:
    """A curve for each number of the vectors, over the time of its frames, with the values beside the axis."""
    found = _value_ticks(attention)
    axes = Axes(left, top + 4, width, high - 8, (0.0, float(len(attention.values))), tuple(found))
    marks: list[Mark] = [*axes.rules()]
    for order, values in enumerate(attention.values.T):
        run: list[tuple[float, float]] = []
        for frame, value in [*_points(values), (0.0, np.nan)]:
            if np.isfinite(value):
                run.append((axes.x(frame), axes.y(value)))
                continue
            if len(run) > 1:
                marks.append(polyline(run, color=series_color(order), width=1.75))
            marks += [Circle(*point, 2, fill=series_color(order)) for point in run if len(run) == 1]
            run = []
    return marks


def _points(values: Array) -> list[tuple[float, float]]:
    """Frames and values of a curve; of a long one, the lowest and the highest value of neighbors."""
    if len(values) <= 2 * FINEST:
        return [(frame + 0.5, float(value)) for frame, value in enumerate(values)]
    edges = np.linspace(0, len(values), FINEST + 1).astype(int)
    found: list[tuple[float, float]] = []
    for first, last in pairwise(edges.tolist()):
        found += [((first + last) / 2, float(one(values[first:last]))) for one in (np.min, np.max)]
    return found


def spectrogram(attention: SeriesAttention) -> np.ndarray:
    """(D, F, 3): loud is light; in long audio, neighboring frames are averaged."""
    values = attention.strengths
    if values.shape[1] > FINEST:
        edges = np.linspace(0, values.shape[1], FINEST + 1).astype(int)
        values = np.add.reduceat(values, edges[:-1], axis=1) / np.diff(edges)
    return shaded_pixels(values)


def _seconds(attention: SeriesAttention, left: float, width: float, y: float) -> list[Mark]:
    """The time axis below the spectrogram; in frames if the duration is unknown."""
    whole, unit = (
        (attention.seconds, "s") if attention.seconds > 0 else (float(len(attention.values)), "frames")
    )
    marks: list[Mark] = []
    for tick in ticks(0.0, whole, count=4 if attention.small else 8) if whole > 0 else ():
        if tick <= whole * 1.0001:
            x = left + width * tick / whole
            near_end = x > left + width - 24
            last = f"{tick_text(tick)} {unit}" if tick == 0 else tick_text(tick)
            marks.append(line(x, y, x, y + 4, color="muted"))
            anchor: Anchor = "end" if near_end else "start" if tick == 0 else "middle"
            marks.append(Text(x, y + 16, last, size=10.5, color="muted", anchor=anchor))
    return marks
