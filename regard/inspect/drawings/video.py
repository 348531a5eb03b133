"""Attention to a video: a strip of frames, and below it a row of shaded cells for each word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rich.text import Text as Line

from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.input_attention import TimedAttention
from regard.inspect.drawings.timeline_svg import draw_rows, label_room, tell_rows, time_legend
from regard.inspect.drawings.timeline_terminal import draw_video as terminal_video
from regard.inspect.drawings.timeline_terminal import time_notes
from regard.inspect.layout import Block
from regard.inspect.raster import Pixels, bounded, png
from regard.inspect.scene import Group, Image, Mark, Rect, Text
from regard.inspect.writing import text_width
from regard.parts import register
from regard.trace import SeenVideo, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

WIDEST = 760.0
"""Width of the strip."""
THUMB = 44.0
"""Minimum width of a frame."""
LARGEST = 84.0
"""Maximum width of a frame."""


@register("drawing", "video")
@dataclass(frozen=True, eq=False, kw_only=True)
class VideoAttention(TimedAttention):
    """The frames of a video and the attention of each word over time."""

    rank: ClassVar[int] = 92
    traced = SeenVideo
    gridded: ClassVar[bool] = True

    frames: Pixels  # (F, H, W, 3)

    def shown(self, most: int) -> list[int]:
        """The frames to show, evenly spaced, if there is room for `most`."""
        return list(range(0, len(self.frames), self.every(most)))

    def every(self, most: int) -> int:
        """The number of frames that each shown frame stands for."""
        return max(1, -(-len(self.frames) // max(1, most)))

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> VideoAttention:
        what: Any = trace.seen[name]
        return cls(frames=what.frames, **cls.weighted(trace, name, view))

    def block(self) -> Block:
        return _draw(self)

    def description(self) -> str:
        return tell_rows(self) or f"A video of {len(self.frames)} frames."

    def when(self, position: int) -> str:
        return self.frames_at(position, len(self.frames), 1)

    @classmethod
    def legend(cls, shown: Sequence[VideoAttention]) -> list[Block]:
        attended = [attention for attention in shown if attention.words]
        return [time_legend(attended)] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return terminal_video(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[VideoAttention], width: int, ink: Ink) -> Iterator[Line]:
        return time_notes(shown, width, ink)


def _draw(attention: VideoAttention) -> Block:
    """The strip with the rows below; the baseline is the upper edge of the frames."""
    count = max(1, len(attention.frames))
    width = min(WIDEST * (0.7 if attention.small else 1.0), count * LARGEST)
    least = THUMB * (0.75 if attention.small else 1.0)
    left = label_room(attention)
    top = (24.0 if attention.title else 0.0) + 16
    marks: list[Mark] = [Text(left, 12, attention.title, size=13, bold=True)] if attention.title else []
    strip, high = _strip(attention, left, width, top, least)
    rows = draw_rows(attention, left, width, top + high + 8)
    marks += [Group(tuple(strip), kind="strip"), *rows.marks]
    group = Group(tuple(marks), kind="film", content=attention)
    height = rows.height if attention.words else top + high
    return Block((group,), max(rows.width, left + text_width(attention.title, 15)), height, baseline=top)


def _strip(
    attention: VideoAttention, left: float, width: float, top: float, least: float
) -> tuple[list[Mark], float]:
    """The frames that fit, each at its position in time, numbered from 1; and their height."""
    count = len(attention.frames)
    if not count:
        return [Text(left, top + 16, "no frames", size=13, color="muted", italic=True)], 24.0
    every = attention.every(int(width // least))
    wide = width * every / count - 3
    high = round(wide * attention.frames.shape[1] / attention.frames.shape[2])
    marks: list[Mark] = []
    for frame in attention.shown(int(width // least)):
        x = left + width * frame / count + 1.5
        if x + wide > left + width + 0.6 and frame:
            break  # the last one would stand for fewer frames: no room for it
        pixels = bounded(attention.frames[frame], round(2 * wide))
        marks.append(Text(x, top - 5, str(frame + 1), size=10.5, color="muted"))
        marks.append(
            Image(x, top, wide, high, png(pixels), smooth=pixels.shape[1] > 1.5 * wide,
                  tip=f"frame {frame + 1}", tags=(("frame", str(frame)),))
        )  # fmt: skip
        marks.append(Rect(x, top, wide, high, stroke="muted", stroke_width=0.75, opacity=0.55))
    return marks, float(high)
