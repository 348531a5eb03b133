"""Videos and audio in character cells: frames or a spectrogram, and below them a line of cells for each word.

With color, cells are shaded and true times underlined. Without color, cells are tenths of the full shade, and marks
below them show true times:

    jumps  ·  ·  2  8  9
                 ┄┄┄┄┄┄┄
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from regard.inspect.drawings.input_attention import TimedAttention
from regard.inspect.raster import resized, shaded_pixels
from regard.inspect.terminal.image import half_blocks, lines_for, side_by_side
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import is_special, shorten, shorten_words, visible
from regard.trace import Array

if TYPE_CHECKING:
    from regard.inspect.drawings.series import SeriesAttention
    from regard.inspect.drawings.video import VideoAttention

FAINT = 0.1
MARGIN = 5
"""Width of the probability beside a row: a blank and 0.97."""
WIDEST = 100
THUMB = 9
"""Minimum width of a frame, in cells."""
HIGH = 6
"""Height of a spectrogram, in lines."""


def draw_video(attention: VideoAttention, width: int, ink: Ink) -> Iterator[Text]:
    """The strip of frames and the rows, in lines of at most `width` cells."""
    label, room = _rooms(attention, width)
    yield from _title(attention, width, ink)
    if not len(attention.frames):
        yield Text(shorten("(no frames)", width), style=ink.style("muted"))
        return
    every = attention.every(max(1, room // THUMB))
    columns = max(1, room * every // len(attention.frames) - 1)
    rows = lines_for(columns, attention.frames.shape[2] / attention.frames.shape[1])
    panels = []
    for frame in attention.shown(max(1, room // THUMB)):
        number = Text(fit(str(frame + 1), columns), style=ink.style("muted"))
        panels.append([number, *half_blocks(resized(attention.frames[frame], columns, 2 * rows), ink)])
    fitting = max(1, (room + 1) // (columns + 1))
    for line in side_by_side(panels[:fitting], gap=1):
        indented = Text(" " * label, no_wrap=True, overflow="crop").append_text(line)
        indented.rstrip()
        yield indented
    yield from _rows(attention, label, room, ink, sure=_sure(attention, width))


def draw_series(attention: SeriesAttention, width: int, ink: Ink) -> Iterator[Text]:
    """The spectrogram, the seconds and the rows, in lines of at most `width` cells."""
    label, room = _rooms(attention, width)
    yield from _title(attention, width, ink)
    if not len(attention.values):
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    if attention.few:
        for written in curve_lines(attention.values, room):
            yield Text(" " * label + written, no_wrap=True, overflow="crop", style=ink.style("accent"))
    else:
        pixels = resized(shaded_pixels(attention.strengths), room, 2 * HIGH)
        for line in half_blocks(pixels, ink):
            yield Text(" " * label, no_wrap=True, overflow="crop").append_text(line)
    end = f"{attention.seconds:.2f} s" if attention.seconds > 0 else f"{len(attention.values)} frames"
    axis = shorten("0" + fit(end, max(0, room - 1), "right"), room)
    yield Text(" " * label + axis, style=ink.style("muted"))
    yield from _rows(attention, label, room, ink, sure=_sure(attention, width))


def curve_lines(values: Array, room: int) -> list[str]:
    """Curves of a few features in `HIGH` lines of braille dots, two across and four down in each character."""
    across, down = 2 * room, 4 * HIGH
    dots = np.zeros((down, across), dtype=bool)
    finite = values[np.isfinite(values)]
    low, high = float(finite.min(initial=np.inf)), float(finite.max(initial=-np.inf))
    for series in values.T:
        before = -1
        for x in range(across):
            value = float(series[min(len(series) - 1, x * len(series) // across)])
            if not np.isfinite(value):
                before = -1
                continue
            y = down // 2 if high <= low else round((high - value) / (high - low) * (down - 1))
            first, last = (y, y) if before < 0 else sorted((y, before))
            dots[first : last + 1, x] = True
            before = y
    bits = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
    cells = dots.reshape(HIGH, 4, room, 2).transpose(0, 2, 1, 3)
    return ["".join(chr(0x2800 + int((cell * bits).sum())) for cell in line) for line in cells]


def time_notes(shown: Sequence[TimedAttention], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of shades and marks."""
    drawn = [attention for attention in shown if attention.words]
    if not drawn:
        return
    line = Text(no_wrap=True, overflow="crop")
    limits = {attention.limit for attention in drawn}
    most = f"{limits.pop():g}" if len(limits) == 1 else "its largest weight"
    if ink.color:
        line.append("0 ", style=ink.style("muted"))
        for step in range(12):
            line.append(" ", style=ink.on((step + 0.5) / 12))
        line.append(f" {most}", style=ink.style("muted"))
    else:
        line.append(f"9: near {most}   · under a tenth of it")
    if any(attention.known for attention in drawn):
        line.append(f"   {'▁' if ink.color else '┄'} {drawn[0].outlined}", style=ink.style("truth"))
    line.truncate(width, overflow="ellipsis")
    yield line


def _rooms(attention: TimedAttention, width: int) -> tuple[int, int]:
    """The width of the labels, including a blank, and of the time axis."""
    longest = max((cell_len(visible(word)) for word in attention.words), default=-1)
    label = min(longest, max(1, width // 4)) + 1
    margin = MARGIN if _sure(attention, width) and attention.words else 0
    room = max(1, min(WIDEST, width - label - margin))
    positions = attention.weights.shape[1] if attention.words else 0
    return label, room - room % positions if 0 < positions <= room else room


def _sure(attention: TimedAttention, width: int) -> bool:
    """Whether there is room for the probability beside a row: a number that is cut would be wrong."""
    return attention.probabilities is not None and width >= 40


def _title(attention: TimedAttention, width: int, ink: Ink) -> Iterator[Text]:
    if attention.title:
        yield Text(shorten_words(attention.title, width), style=ink.style("ink", bold=True))


def _rows(attention: TimedAttention, label: int, room: int, ink: Ink, *, sure: bool) -> Iterator[Text]:
    columns = _columns(attention, room)
    for word in range(len(attention.words)):
        color = "muted" if is_special(attention.words[word]) else "ink"
        line = Text(no_wrap=True, overflow="crop")
        line.append(
            fit(visible(attention.words[word]), label - 1, "right") + " ", style=ink.style(color, bold=True)
        )
        true = np.array([attention.true(word)[places].any() for places in columns], dtype=bool)
        if ink.color:
            for places, inside in zip(columns, true, strict=True):
                share = max(attention.shade(word, place) for place in places)
                line.append("▁" if inside else " ", style=_ground(share, ink))
        else:
            line.append(_tenths(attention, word, columns))
        if sure and attention.probabilities is not None:
            line.append(f" {attention.probabilities[word]:.2f}", style=ink.style("muted"))
        yield line
        if not ink.color and true.any():
            yield Text((" " * label + "".join("┄" if inside else " " for inside in true)).rstrip())


def _ground(share: float, ink: Ink) -> Style:
    return ink.on(share) + ink.style("truth")


def _columns(attention: TimedAttention, room: int) -> list[list[int]]:
    """For each column of characters, the positions it shows: one, or several if there are more positions than
    columns."""
    bounds = attention.bounds * room
    shown = []
    for column in range(room):
        places = np.flatnonzero((bounds[:-1] < column + 1 - 1e-6) & (bounds[1:] > column + 1e-6))
        middle = int(np.searchsorted(bounds, column + 0.5) - 1)
        several = len(bounds) - 1 > room
        shown.append([int(place) for place in places] if several else [min(middle, len(bounds) - 2)])
    return shown


def _tenths(attention: TimedAttention, word: int, columns: Sequence[Sequence[int]]) -> str:
    """A digit centered in the columns of each position."""
    line = ""
    start = 0
    while start < len(columns):
        end = start + 1
        while end < len(columns) and columns[end] == columns[start]:
            end += 1
        share = max(attention.shade(word, place) for place in columns[start])
        line += fit("·" if share < FAINT else str(min(9, int(10 * share))), end - start, "center")
        start = end
    return line
