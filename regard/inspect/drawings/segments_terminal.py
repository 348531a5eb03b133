"""Segments in character cells: the source once per output piece, shaded by p(inside), with marks below.

━ best segments   ┄ true segments   ═ both
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import is_special, shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.segments import SegmentBands

FAINT = 0.1
"""Shares below this are a dot without color."""
_MARKS = {(False, False): " ", (True, False): "━", (False, True): "┄", (True, True): "═"}
_MEANINGS = {"━": "best segments", "┄": "true segments", "═": "both"}


@dataclass(frozen=True)
class _Plan:
    """The widths of the labels and of each source piece, and the pieces of each band."""

    label: int
    cells: dict[int, int]
    blank: int
    bands: list[list[int]]


def draw_segments(bands: SegmentBands, width: int, ink: Ink) -> Iterator[Text]:
    """Lines of at most `width` cells; a source that does not fit continues in another band below."""
    if bands.title:
        yield Text(shorten_words(bands.title, width), style=ink.style("ink", bold=True))
    if not bands.sources or not bands.targets:
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    plan = _plan(bands, width)
    for number, band in enumerate(plan.bands):
        if number:
            yield Text()
        if not ink.color:
            yield _line(bands, None, band, plan, ink)
        for row in range(len(bands.targets)):
            yield _line(bands, row, band, plan, ink)
            marks = _marks(bands, row, band, plan, ink)
            if marks:
                yield marks


def segment_notes(shown: Sequence[SegmentBands], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of marks and digits."""
    best = any(bands.segments.best is not None for bands in shown)
    truth = any(bands.segments.truth is not None for bands in shown)
    signs = "━" * best + "┄" * truth + "═" * (best and truth)
    parts = [f"{sign} {_MEANINGS[sign]}" for sign in signs]
    if shown and not ink.color:
        parts.append(f"· under {FAINT:g}, 1 from 0.1 … 9 from 0.9")
    line = ""
    for part in parts:
        if line and cell_len(line) + 3 + cell_len(part) > width:
            yield Text(line, style=ink.style("muted"))
            line = ""
        line = shorten(f"{line}   {part}" if line else part, width)
    if line:
        yield Text(line, style=ink.style("muted"))


def _plan(bands: SegmentBands, width: int) -> _Plan:
    named = [cell_len(visible(target)) for target in bands.targets if target]
    label = min(max(named, default=-1), max(1, width // 3))  # −1: no blank after it either
    letters = all(len(source) <= 1 for source in bands.sources)
    room = max(1, width - label - 1)
    blank = 0 if letters else 1
    cells = {s: min(room, max(1, cell_len(visible(bands.sources[s])))) for s in bands.order}
    lines: list[list[int]] = [[]]
    used = 0
    for source in bands.order:
        size = cells[source] + (blank if lines[-1] else 0)
        if lines[-1] and used + size > room:
            lines.append([])
            used, size = 0, cells[source]
        lines[-1].append(source)
        used += size
    return _Plan(label, cells, blank, lines)


def _line(bands: SegmentBands, row: int | None, band: Sequence[int], plan: _Plan, ink: Ink) -> Text:
    """The shaded source for an output piece, or its weights in tenths; without a row, the source alone."""
    target = "" if row is None else bands.targets[row]
    line = Text(no_wrap=True, overflow="crop")
    color = "muted" if is_special(target) else "ink"
    label = fit(visible(target), plan.label, "right") + " " if target else " " * (plan.label + 1)
    line.append(label, style=ink.style(color, bold=True))
    for place, source in enumerate(band):
        piece = fit(visible(bands.sources[source]), plan.cells[source], "center")
        if place:
            line.append(" " * plan.blank)
        if row is None:
            line.append(piece, style=ink.style("ink", bold=True))
        elif ink.color:
            line.append(piece, style=ink.on(bands.share(row, source)))
        else:
            share = bands.share(row, source)
            digit = "·" if share < FAINT else str(min(9, int(10 * share)))
            line.append(fit(digit, plan.cells[source], "center"))
    if not ink.color:
        line.rstrip()
    return line


def _marks(bands: SegmentBands, row: int, band: Sequence[int], plan: _Plan, ink: Ink) -> Text:
    """A mark below each position that is in the best segmentation, in the true one, or in both."""
    found = bands.segments
    line = Text(" " * (plan.label + 1), no_wrap=True, overflow="crop")
    before = (False, False)
    for place, source in enumerate(band):
        inside = (
            found.best is not None and bool(found.best[row, source]),
            found.truth is not None and bool(found.truth[row, source]),
        )
        if place and plan.blank:
            both = (inside[0] and before[0], inside[1] and before[1])
            line.append(_MARKS[both] * plan.blank, style=_style(both, ink))
        line.append(_MARKS[inside] * plan.cells[source], style=_style(inside, ink))
        before = inside
    line.rstrip()
    return line


def _style(inside: tuple[bool, bool], ink: Ink) -> Style:
    return ink.style("truth" if inside[1] else "accent")
