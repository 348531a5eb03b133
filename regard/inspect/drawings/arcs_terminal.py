"""Arcs in box-drawing characters above the words, or one line per word if the sentence is too wide for the terminal.

    ╭─det─╮ ╭nsubj╮root
    ▼     │ ▼     │▼
      the  dog    runs

Wrong arcs have double lines, and missed true ones are dashed below, so that they differ without color.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.arcs_layout import Arc, Role, Side, arcs_above, arcs_below, arcs_outside
from regard.inspect.drawings.arcs_svg import COLORS, MEANINGS, ROOT
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import clusters, is_special, runs_right_to_left, shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.arcs import ArcDiagram

# horizontal, vertical, left and right corner of an arc above, then of one below
_LINES: Mapping[Role, str] = {"best": "─│╭╮╰╯", "wrong": "═║╔╗╚╝", "missed": "╌╎╭╮╰╯", "other": "┄┊╭╮╰╯"}
_SIGNS: Mapping[Role, str] = {"best": "───", "wrong": "═══", "missed": "╌╌╌", "other": "┄┄┄"}


def draw_arcs(diagram: ArcDiagram, width: int, ink: Ink) -> Iterator[Text]:
    """The diagram in lines of at most `width` cells."""
    if diagram.title:
        yield Text(shorten_words(diagram.title, width), style=ink.style("ink", bold=True))
    if not diagram.words:
        yield Text(shorten("(nothing to show)", width), style=ink.style("muted"))
        return
    above = [arc for arc in arcs_above(diagram) if arc.role != "other"]
    sides = [Side.of(arcs, len(diagram.words)) for arcs in (above, arcs_below(diagram))]
    layouts = (_Sheet.of(diagram, sides, numbers) for numbers in (True, False))
    sheet = next((sheet for sheet in layouts if sheet.width <= width), None)
    if sheet is None:
        yield from _listed(diagram, width, ink)
    else:
        yield from sheet.lines(ink)
    yield from _notes(diagram, width, ink, drawn=sheet is not None)


@dataclass
class _Sheet:
    """A grid of characters: the start of each word, and whether marginals are written with the relations."""

    diagram: ArcDiagram
    sides: Sequence[Side]
    numbers: bool
    starts: list[int]
    sizes: list[int]
    width: int
    cells: dict[tuple[int, int], tuple[str, Role]] = field(default_factory=dict)

    @classmethod
    def of(cls, diagram: ArcDiagram, sides: Sequence[Side], numbers: bool) -> _Sheet:
        sizes = [
            max(cell_len(visible(word)), *(side.ports.count[place] for side in sides))
            for place, word in enumerate(diagram.words)
        ]
        sheet = cls(diagram, sides, numbers, [], sizes, 0)
        for place in range(len(sizes)):
            start = sheet.starts[-1] + sizes[place - 1] + 1 if place else 0
            sheet.starts.append(start)
            sheet.starts[-1] += sheet._lack(place)
        sheet.width = sheet.starts[-1] + sizes[-1]
        return sheet

    def _lack(self, place: int) -> int:
        """How far a word must move to make room for the labels of arcs that end at it from the left."""
        lack = 0
        for side in self.sides:
            for i, arc in enumerate(side.arcs):
                if arc.head and arc.right == place + 1:
                    room = self._column(side, i, arc.right) - self._column(side, i, arc.left) - 1
                    lack = max(lack, cell_len(self._label(arc)) - room)
        return lack

    def _label(self, arc: Arc) -> str:
        number = f"{arc.strength:.2f}".removeprefix("0") if arc.known and self.numbers else ""
        return " ".join(filter(None, (arc.label, number)))

    def _column(self, side: Side, i: int, word: int) -> int:
        """The column of the end of arc i at a word, counted from the side where reading starts."""
        arc = side.arcs[i]
        place = side.ports.ends[i][0 if arc.head == word else 1]
        return self.starts[word - 1] + (self.sizes[word - 1] - side.ports.count[word - 1]) // 2 + place

    def lines(self, ink: Ink) -> Iterator[Text]:
        mirrored = runs_right_to_left(self.diagram.words)
        over, under = self.sides
        top = over.height + 1
        self._paint(over, mirrored, -1)
        self._paint(under, mirrored, 1)
        for row in range(-top if over.arcs else 0, 0):
            yield self._row(row, ink)
        yield self._words(ink, mirrored)
        for row in range(1, under.height + 2 if under.arcs else 1):
            yield self._row(row, ink)

    def _paint(self, side: Side, mirrored: bool, direction: int) -> None:
        """Row ±1 has the arrowheads; the top of an arc of level n is in row ±(n + 1)."""
        for i, arc in enumerate(side.arcs):
            crown = direction * (side.levels[i] + 1)
            columns = [self._column(side, i, word) for word in (arc.head or arc.child, arc.child)]
            start, end = (self.width - 1 - c for c in columns) if mirrored else columns
            across, down, *corners = tuple(_LINES[arc.role])
            for row in range(direction, crown, direction):
                self._put(row, start, down, arc.role)
                self._put(row, end, down, arc.role)
            self.cells[direction, end] = ("▼" if direction < 0 else "▲", arc.role)
            if not arc.head:
                self._write(crown, max(0, min(end - 1, self.width - len(ROOT))), ROOT, arc.role)
                continue
            left, right = sorted((start, end))
            for column in range(left + 1, right):
                self._put(crown, column, across, arc.role)
            opening, closing = corners[:2] if direction < 0 else corners[2:]
            self.cells[crown, left], self.cells[crown, right] = (opening, arc.role), (closing, arc.role)
            label = self._label(arc)
            room = right - left - 1
            if label and cell_len(label) <= room:
                self._write(crown, left + 1 + (room - cell_len(label)) // 2, label, arc.role)

    def _put(self, row: int, column: int, sign: str, role: Role) -> None:
        before = self.cells.get((row, column), ("", role))[0]
        straight = "─═╌┄" if sign in "│║╎┊" else "│║╎┊"
        self.cells[row, column] = ("┼" if before and before in straight else sign, role)

    def _write(self, row: int, column: int, text: str, role: Role) -> None:
        for sign in clusters(text):
            self.cells[row, column] = (sign, role)
            size = cell_len(sign)
            for beyond in range(column + 1, column + size):
                self.cells[row, beyond] = ("", role)  # a wide character covers two cells
            column += size

    def _row(self, row: int, ink: Ink) -> Text:
        line = Text(no_wrap=True, overflow="crop")
        for column in range(self.width):
            sign, role = self.cells.get((row, column), (" ", "best"))
            line.append(sign, style=ink.style(COLORS[role]))
        line.rstrip()
        return line

    def _words(self, ink: Ink, mirrored: bool) -> Text:
        line = Text(no_wrap=True, overflow="crop")
        places = list(range(len(self.sizes)))
        for place in reversed(places) if mirrored else places:
            start, size = self.starts[place], self.sizes[place]
            line.append(" " * ((self.width - start - size if mirrored else start) - line.cell_len))
            word = self.diagram.words[place]
            style = ink.style("muted" if is_special(word) else "ink", bold=True)
            line.append(fit(visible(word), size, "center"), style=style)
        line.rstrip()
        return line


def _listed(diagram: ArcDiagram, width: int, ink: Ink) -> Iterator[Text]:
    """A line per word: its number, text, head, relation, marginal, and the truth if it differs."""
    missed = {arc.child: arc for arc in arcs_below(diagram)}
    found = {arc.child: arc for arc in arcs_above(diagram) if arc.role != "other"}
    digits = len(str(len(diagram.words)))
    size = min(max(cell_len(visible(word)) for word in diagram.words), max(1, width // 3))
    for child, word in enumerate(diagram.words, 1):
        line = Text(f"{child:>{digits}} ", style=ink.style("muted"), no_wrap=True, overflow="crop")
        line.append(fit(visible(word), size), style=ink.style("ink", bold=True))
        if child in found:
            line.append(_entry(diagram, found[child], ink))
        if child in missed:
            true = _entry(diagram, missed[child], ink)
            if line.cell_len + true.cell_len > width:
                yield _cut(line, width)
                line = Text(" " * (digits + 1), no_wrap=True, overflow="crop")
            line.append(true)
        yield _cut(line, width)


def _entry(diagram: ArcDiagram, arc: Arc, ink: Ink) -> Text:
    sign = {"best": "←", "wrong": "✗", "missed": "true:"}.get(arc.role, "")
    number = f"{arc.strength:.2f}" if arc.known else ""
    relation = "" if not arc.head and arc.label == ROOT else arc.label
    entry = Text(f" {sign} {_head(diagram, arc.head)}", style=ink.style(COLORS[arc.role]))
    return entry.append("".join(f" {part}" for part in (relation, number) if part), style=ink.style("muted"))


def _cut(line: Text, width: int) -> Text:
    line.truncate(width, overflow="ellipsis")
    return line


def _head(diagram: ArcDiagram, head: int) -> str:
    return f"{head} {visible(diagram.words[head - 1])}" if head else ROOT


def _notes(diagram: ArcDiagram, width: int, ink: Ink, *, drawn: bool) -> Iterator[Text]:
    """The legend of the lines, and the probable arcs outside the best tree."""
    shown = {arc.role for arc in (*arcs_above(diagram), *arcs_below(diagram))} & {"wrong", "missed"}
    if drawn and shown:
        parts = [f"{_SIGNS[role]} {MEANINGS[role]}" for role in ("wrong", "missed") if role in shown]
        yield Text()
        yield Text(shorten("   ".join(parts), width), style=ink.style("muted"))
    others = [arc for arc in arcs_above(diagram) if arc.role == "other"]
    count = len(arcs_outside(diagram))
    if others:
        some = f" ({len(others)} of {count})" if count > len(others) else ""
        yield Text(shorten(f"{MEANINGS['other']}{some}:", width), style=ink.style("muted"))
    for arc in others:
        text = f"  {visible(diagram.words[arc.child - 1])} ← {_head(diagram, arc.head)} {arc.strength:.2f}"
        yield Text(shorten(text, width), style=ink.style("muted"))
