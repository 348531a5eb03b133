"""Attention to a table: its fields and values, and beside each cell a shaded box for every output piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich.cells import cell_len
from rich.text import Text as Line

from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.input_attention import InputAttention
from regard.inspect.handles import WordHandle
from regard.inspect.layout import WIDEST, Block, color_scale
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Text, line
from regard.inspect.terminal.ink import fit, in_lines
from regard.inspect.writing import shorten, text_width, visible
from regard.parts import register
from regard.trace import SeenTable, Trace

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

SIZE, ROW = 13.5, 26.0
BOX = 24.0
LONGEST = 44
"""Maximum number of characters of a value."""
GAP = 14.0


@register("drawing", "table")
@dataclass(frozen=True, eq=False, kw_only=True)
class TableAttention(InputAttention):
    """The cells of a table, (S) fields and values, and the weights (T, S) of each output piece."""

    rank: ClassVar[int] = 97
    traced = SeenTable

    names: tuple[str, ...]
    values: tuple[str, ...]

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> TableAttention:
        names, values = [], []
        for known, piece in zip(trace.seen[name].names, trace.input[name], strict=True):  # type: ignore[attr-defined]
            field, _, value = piece.partition(": ")
            whole = piece.startswith(f"{known}: ")
            names.append(known if whole else field)
            values.append(piece.removeprefix(f"{known}: ") if whole else value)
        return cls(names=tuple(names), values=tuple(values), **cls.weighted(trace, name, view))

    @classmethod
    def shows(cls, trace: Trace, name: str) -> bool:
        """If the cells were attended to, not the words of their values."""
        looks = trace.attention.get(name)
        cells = len(trace.input[name])
        return super().shows(trace, name) and (looks is None or looks.shape[-1] == cells)

    def block(self) -> Block:
        return _draw(self)

    @classmethod
    def legend(cls, shown: Sequence[TableAttention]) -> list[Block]:
        attended = [one for one in shown if one.words]
        known = any(one.known for one in attended)
        return [color_scale(name="weight of a cell", truth=known, outlined="true cell")] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return _lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[TableAttention], width: int, ink: Ink) -> Iterator[Line]:
        if any(one.words for one in shown):
            told = ["numbers: weight in hundredths"]
            told += ["! true cell"] * any(one.known for one in shown)
            yield from in_lines([Line(one, style=ink.style("muted")) for one in told], width)

    def description(self) -> str:
        """The most attended cell of each piece, in words."""
        if not self.words:
            return f"A table of {len(self.names)} cells."
        found = [
            f"{visible(word)}: {visible(self.names[self.best(place)])} ({self.weights[place, self.best(place)]:.2f})"
            for place, word in enumerate(self.words)
        ]
        return f"A table of {len(self.names)} cells. Most attended: {'; '.join(found)}."

    def parts(self, room: int) -> list[range]:
        """The output pieces of each part of the figure, at most `room` in each."""
        return [range(first, min(first + room, len(self.words))) for first in range(0, len(self.words), room)]


def _draw(shown: TableAttention) -> Block:
    """The table; of many output pieces, one table below the other."""
    names = [shorten(visible(name), LONGEST) for name in shown.names]
    values = [shorten(visible(value), LONGEST) for value in shown.values]
    left = max((text_width(name, SIZE) for name in names), default=0.0) + GAP
    right = left + max((text_width(value, SIZE) for value in values), default=0.0) + GAP
    widest = max((text_width(visible(word), 12) for word in shown.words), default=0.0)
    column = BOX + 2 if widest > BOX else max(widest + 6, BOX + 2)
    slanted = widest > BOX
    room = max(1, int((WIDEST * 0.75 - right) // column))
    marks: list[Mark] = [Text(0, 12, shown.title, size=13, bold=True)] if shown.title else []
    y, width = 24.0 if shown.title else 0.0, right
    for words in shown.parts(room) or [range(0)]:
        head = min(widest * 0.75 + 12, 110.0) if slanted else 20.0 if shown.words else 0.0
        for order, word in enumerate(words):
            x = right + order * column + BOX / 2
            text = shorten(visible(shown.words[word]), 16)
            if slanted:
                marks.append(Text(x - 2, y + head - 6, text, size=12, rotate=-50))
            else:
                marks.append(Text(x, y + head - 6, text, size=12, anchor="middle"))
        y += head
        for cell, (name, value) in enumerate(zip(names, values, strict=True)):
            marks += _row(shown, cell, name, value, y + cell * ROW, (left, right, column), words)
        end = right + len(words) * column + (head * 0.6 if slanted else 0.0)
        for border in range(len(names) + 1):
            marks.append(line(0, y + border * ROW, right - GAP / 2, y + border * ROW))
        marks.append(line(left - GAP / 2, y, left - GAP / 2, y + len(names) * ROW))
        width, y = max(width, end), y + len(names) * ROW + 16
    return Block((Group(tuple(marks), kind="table", content=shown),), width, max(y - 16, 20.0))


def _row(
    shown: TableAttention, cell: int, name: str, value: str, y: float, places: tuple[float, float, float],
    words: range,
) -> list[Mark]:  # fmt: skip
    left, right, column = places
    at = WordHandle(shown.over, cell) if shown.over else None
    marks: list[Mark] = [
        Text(2, y + 17.5, name, size=SIZE, color="muted"),
        Text(left, y + 17.5, value, size=SIZE, tip=visible(shown.values[cell]), at=at),
    ]
    for order, word in enumerate(words):
        weight = float(np.nan_to_num(shown.weights[word, cell]))
        shade, x = Shade(min(1.0, max(0.0, weight))), right + order * column
        tip = f"{visible(shown.words[word])} ← {visible(shown.names[cell])}  {weight:.3f}"
        marks.append(Rect(x, y + 1, BOX, ROW - 2, fill=shade, radius=3, tip=tip, at=shown.handle(word, cell)))
        if weight >= 0.095:
            written = f"{weight:.2f}".removeprefix("0") if weight < 0.995 else "1"
            marks.append(Text(x + BOX / 2, y + 17, written, size=10.5, anchor="middle", color=Over(shade)))
        if shown.true(word)[cell]:
            marks.append(
                Rect(x + 0.75, y + 1.75, BOX - 1.5, ROW - 3.5, stroke="truth", stroke_width=1.75, radius=3)
            )
    return marks


def _lines(shown: TableAttention, width: int, ink: Ink) -> Iterator[Line]:
    """The table in lines of at most `width` cells: the output pieces above, their weights beside each cell."""
    if shown.title:
        yield Line(shorten(shown.title, width), style=ink.style("ink", bold=True))
    left = min(max((cell_len(visible(name)) for name in shown.names), default=0), max(4, width // 4))
    middle = min(max((cell_len(visible(value)) for value in shown.values), default=0), max(6, width // 3))
    wide = [max(3, min(12, cell_len(visible(word)))) + 1 for word in shown.words]
    parts: list[list[int]] = [[]]
    for word, size in enumerate(wide):
        used = left + middle + 3 + sum(wide[one] for one in parts[-1])
        if parts[-1] and used + size > width:
            parts.append([])
        parts[-1].append(word)
    for number, words in enumerate(parts):
        if number:
            yield Line()
        if words:
            head = Line(" " * (left + middle + 3), no_wrap=True, overflow="crop")
            for word in words:
                head.append(fit(shorten(visible(shown.words[word]), wide[word] - 1), wide[word], "right"))
            yield head
        for cell, (name, value) in enumerate(zip(shown.names, shown.values, strict=True)):
            row = Line(no_wrap=True, overflow="crop")
            row.append(fit(shorten(visible(name), left), left, "left"), style=ink.style("muted"))
            row.append("  ").append(fit(shorten(visible(value), middle), middle, "left")).append(" ")
            for word in words:
                weight = float(np.nan_to_num(shown.weights[word, cell]))
                true = "!" if shown.true(word)[cell] else ""
                text = f"{min(99, round(100 * weight))}{true}" if weight >= 0.005 or true else ""
                row.append(fit(text, wide[word], "right"), style=ink.on(min(1.0, weight)))
            yield row
