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

from regard.inspect.drawings.seen import TimedAttention
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


def draw_video(looks: VideoAttention, width: int, ink: Ink) -> Iterator[Text]:
    """The strip of frames and the rows, in lines of at most `width` cells."""
    label, room = _rooms(looks, width)
    yield from _title(looks, width, ink)
    if not len(looks.frames):
        yield Text(shorten("(no frames)", width), style=ink.style("muted"))
        return
    every = looks.every(max(1, room // THUMB))
    columns = max(1, room * every // len(looks.frames) - 1)
    rows = lines_for(columns, looks.frames.shape[2] / looks.frames.shape[1])
    panels = []
    for frame in looks.shown(max(1, room // THUMB)):
        number = Text(fit(str(frame + 1), columns), style=ink.style("muted"))
        panels.append([number, *half_blocks(resized(looks.frames[frame], columns, 2 * rows), ink)])
    fitting = max(1, (room + 1) // (columns + 1))
    for line in side_by_side(panels[:fitting], gap=1):
        indented = Text(" " * label, no_wrap=True, overflow="crop").append_text(line)
        indented.rstrip()
        yield indented
    yield from _rows(looks, label, room, ink)


def draw_series(looks: SeriesAttention, width: int, ink: Ink) -> Iterator[Text]:
    """The spectrogram, the seconds and the rows, in lines of at most `width` cells."""
    label, room = _rooms(looks, width)
    yield from _title(looks, width, ink)
    if not len(looks.values):
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    if looks.few:
        for written in curve_lines(looks.values, room):
            yield Text(" " * label + written, no_wrap=True, overflow="crop", style=ink.style("accent"))
    else:
        pixels = resized(shaded_pixels(looks.strengths), room, 2 * HIGH)
        for line in half_blocks(pixels, ink):
            yield Text(" " * label, no_wrap=True, overflow="crop").append_text(line)
    end = f"{looks.seconds:.2f} s" if looks.seconds > 0 else f"{len(looks.values)} frames"
    axis = shorten("0" + fit(end, max(0, room - 1), "right"), room)
    yield Text(" " * label + axis, style=ink.style("muted"))
    yield from _rows(looks, label, room, ink)


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
    drawn = [looks for looks in shown if looks.words]
    if not drawn:
        return
    line = Text(no_wrap=True, overflow="crop")
    limits = {looks.limit for looks in drawn}
    most = f"{limits.pop():g}" if len(limits) == 1 else "its largest weight"
    if ink.color:
        line.append("0 ", style=ink.style("muted"))
        for step in range(12):
            line.append(" ", style=ink.on((step + 0.5) / 12))
        line.append(f" {most}", style=ink.style("muted"))
    else:
        line.append(f"9: near {most}   · under a tenth of it")
    if any(looks.known for looks in drawn):
        line.append(f"   {'▁' if ink.color else '┄'} {drawn[0].outlined}", style=ink.style("truth"))
    line.truncate(width, overflow="ellipsis")
    yield line


def _rooms(looks: TimedAttention, width: int) -> tuple[int, int]:
    """The width of the labels, including a blank, and of the time axis."""
    longest = max((cell_len(visible(word)) for word in looks.words), default=-1)
    label = min(longest, max(1, width // 4)) + 1
    margin = MARGIN if looks.probabilities is not None and looks.words and width >= 40 else 0
    room = max(1, min(WIDEST, width - label - margin))
    positions = looks.weights.shape[1] if looks.words else 0
    return label, room - room % positions if 0 < positions <= room else room


def _title(looks: TimedAttention, width: int, ink: Ink) -> Iterator[Text]:
    if looks.title:
        yield Text(shorten_words(looks.title, width), style=ink.style("ink", bold=True))


def _rows(looks: TimedAttention, label: int, room: int, ink: Ink) -> Iterator[Text]:
    columns = _columns(looks, room)
    for word in range(len(looks.words)):
        color = "muted" if is_special(looks.words[word]) else "ink"
        line = Text(no_wrap=True, overflow="crop")
        line.append(
            fit(visible(looks.words[word]), label - 1, "right") + " ", style=ink.style(color, bold=True)
        )
        true = np.array([looks.true(word)[places].any() for places in columns], dtype=bool)
        if ink.color:
            for places, inside in zip(columns, true, strict=True):
                share = max(looks.shade(word, place) for place in places)
                line.append("▁" if inside else " ", style=_ground(share, ink))
        else:
            line.append(_tenths(looks, word, columns))
        if looks.probabilities is not None:
            line.append(f" {looks.probabilities[word]:.2f}", style=ink.style("muted"))
        yield line
        if not ink.color and true.any():
            yield Text((" " * label + "".join("┄" if inside else " " for inside in true)).rstrip())


def _ground(share: float, ink: Ink) -> Style:
    return ink.on(share) + ink.style("truth")


def _columns(looks: TimedAttention, room: int) -> list[list[int]]:
    """For each column of characters, the positions it shows: one, or several if there are more positions than
    columns."""
    bounds = looks.bounds * room
    shown = []
    for column in range(room):
        places = np.flatnonzero((bounds[:-1] < column + 1 - 1e-6) & (bounds[1:] > column + 1e-6))
        middle = int(np.searchsorted(bounds, column + 0.5) - 1)
        several = len(bounds) - 1 > room
        shown.append([int(place) for place in places] if several else [min(middle, len(bounds) - 2)])
    return shown


def _tenths(looks: TimedAttention, word: int, columns: Sequence[Sequence[int]]) -> str:
    """A digit centered in the columns of each position."""
    line = ""
    start = 0
    while start < len(columns):
        end = start + 1
        while end < len(columns) and columns[end] == columns[start]:
            end += 1
        share = max(looks.shade(word, place) for place in columns[start])
        line += fit("·" if share < FAINT else str(min(9, int(10 * share))), end - start, "center")
        start = end
    return line
