"""Hops in character cells: a table of sentences by hops.

1 John picked up the football.  ▸[.93]   .05
  Mary dropped the milk.          .02    .02
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import clusters, right_to_left, shorten, shorten_words, visible
from regard.reporting.terminal import printable

if TYPE_CHECKING:
    from regard.inspect.drawings.hops import HopTable

CELL = 7
"""Width of a cell: a blank, ▸ for the choice, a bracket, three digits, a bracket."""


def draw_hops(table: HopTable, width: int, ink: Ink) -> Iterator[Text]:
    """The table in lines of at most `width` cells; sentences wrap, and hops that do not fit continue below."""
    if table.title:
        yield Text(shorten_words(table.title, width), style=ink.style("ink", bold=True))
    count = len(table.hops.weights)
    if not table.positions or not count:
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    orders = [",".join(map(str, table.true_order(place))) for place in range(len(table.positions))]
    badge = min(max(map(len, orders)) + 1, max(0, width // 4)) if table.hops.truth is not None else 0
    widest = max(cell_len(visible(text)) for text in table.positions)
    band = max(1, min(count, (width - badge - min(widest, 24)) // CELL))
    room = max(1, min(widest, width - badge - band * CELL))
    for first in range(0, count, band):
        if first:
            yield Text()
        shown = range(first, min(count, first + band))
        head = "".join(fit(f"hop {hop + 1}", CELL, "center") for hop in shown)
        yield Text(shorten(" " * (badge + room) + head.rstrip(), width), style=ink.style("muted"))
        for place in range(len(table.positions)):
            for line in _row(table, place, orders[place], (badge, room), shown, ink):
                line.truncate(width)
                yield line


def _row(table: HopTable, place: int, order: str, rooms: tuple[int, int], shown: Sequence[int],
         ink: Ink) -> Iterator[Text]:  # fmt: skip
    """A sentence on as many lines as needed, with the weights beside its first."""
    badge, room = rooms
    text = visible(table.positions[place])
    for number, part in enumerate(fold(text, room)):
        line = Text(no_wrap=True, overflow="crop")
        line.append(fit("" if number else order, badge), style=ink.style("truth", bold=True))
        line.append(fit(part, room, "right" if right_to_left(part) else "left"), style=ink.style("ink"))
        if not number:
            for hop in shown:
                line.append(" ")
                line.append(_cell(table, place, hop, ink))
        if not ink.color:
            line.rstrip()
        yield line


def _cell(table: HopTable, place: int, hop: int, ink: Ink) -> Text:
    weight = float(table.hops.weights[hop, place])
    best, true = table.is_best(place, hop), table.is_true(place, hop)
    if not table.reads(hop):
        return Text(fit("–", CELL - 1, "center"), style=ink.style("muted"))
    number = f"{weight:.2f}".removeprefix("0")
    number = f"[{number}]" if true else number
    text = ("▸" if best else " ") + fit(number, CELL - 2, "center")
    return Text(text, style=ink.on(min(1.0, max(0.0, weight)), bold=best))


def hop_notes(shown: Sequence[HopTable], width: int, ink: Ink) -> Iterator[Text]:
    """The legend."""
    parts = []
    if any(table.hops.best is not None for table in shown):
        parts.append("▸ chosen")
    if any(table.hops.truth is not None for table in shown):
        parts.append("[ ] true fact")
    if any(not table.reads(hop) for table in shown for hop in range(len(table.hops.weights))):
        parts.append("– hop not used")
    if parts:
        yield Text(shorten("   ".join(parts), width), style=ink.style("muted"))


def fold(text: str, width: int) -> list[str]:
    """The text in lines of at most `width` cells, broken at blanks if possible."""
    lines = [""]
    for word in printable(text).split(" "):
        if lines[-1] and cell_len(f"{lines[-1]} {word}") <= width:
            lines[-1] += f" {word}"
            continue
        if lines[-1]:
            lines.append("")
        for cluster in clusters(word):
            if lines[-1] and cell_len(lines[-1] + cluster) > width:
                lines.append("")
            lines[-1] += cluster
    return lines
