"""Attention to a video: a strip of frames, and below it a row of shaded cells for each word."""

from __future__ import annotations

from regard.inspect.layout import Block
from regard.inspect.raster import bounded, png
from regard.inspect.scene import Group, Image, Mark, Rect, Text
from regard.inspect.sights import FilmLooks
from regard.inspect.timeline import draw_rows, label_room, tell_rows
from regard.inspect.writing import text_width

WIDEST = 760.0
"""Width of the strip."""
THUMB = 44.0
"""Minimum width of a frame."""
LARGEST = 84.0
"""Maximum width of a frame."""


def draw_film(looks: FilmLooks) -> Block:
    """The strip with the rows below; the baseline is the upper edge of the frames."""
    count = max(1, len(looks.frames))
    width = min(WIDEST * (0.7 if looks.small else 1.0), count * LARGEST)
    least = THUMB * (0.75 if looks.small else 1.0)
    left = label_room(looks)
    top = (24.0 if looks.title else 0.0) + 16
    marks: list[Mark] = [Text(left, 12, looks.title, size=13, bold=True)] if looks.title else []
    strip, high = _strip(looks, left, width, top, least)
    rows = draw_rows(looks, left, width, top + high + 8)
    marks += [Group(tuple(strip), kind="strip"), *rows.marks]
    group = Group(tuple(marks), kind="film", content=looks)
    height = rows.height if looks.words else top + high
    return Block((group,), max(rows.width, left + text_width(looks.title, 15)), height, baseline=top)


def _strip(looks: FilmLooks, left: float, width: float, top: float, least: float) -> tuple[list[Mark], float]:
    """The frames that fit, each at its position in time, numbered from 1; and their height."""
    count = len(looks.frames)
    if not count:
        return [Text(left, top + 16, "no frames", size=13, color="muted", italic=True)], 24.0
    every = looks.every(int(width // least))
    wide = width * every / count - 3
    high = round(wide * looks.frames.shape[1] / looks.frames.shape[2])
    marks: list[Mark] = []
    for frame in looks.shown(int(width // least)):
        x = left + width * frame / count + 1.5
        if x + wide > left + width + 0.6 and frame:
            break  # the last one would stand for fewer frames: no room for it
        pixels = bounded(looks.frames[frame], round(2 * wide))
        marks.append(Text(x, top - 5, str(frame + 1), size=10.5, color="muted"))
        marks.append(
            Image(x, top, wide, high, png(pixels), smooth=pixels.shape[1] > 1.5 * wide,
                  tip=f"frame {frame + 1}", tags=(("frame", str(frame)),))
        )  # fmt: skip
        marks.append(Rect(x, top, wide, high, stroke="muted", stroke_width=0.75, opacity=0.55))
    return marks, float(high)


def tell_film(looks: FilmLooks) -> str:
    """The content in words."""
    return tell_rows(looks) or f"A video of {len(looks.frames)} frames."
