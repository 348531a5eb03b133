"""Words and numbers as blocks of a figure: a table, and a paragraph."""

from __future__ import annotations

from collections.abc import Sequence

from regard.inspect.layout import Block
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Mark, Shape, Text
from regard.inspect.writing import text_width, wrap


def draw_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, size: float = 12.0, width: float = WIDTH
) -> Block:
    """A table of text and numbers: the first column is aligned left, the others right."""
    columns = list(zip(*(head, *rows), strict=True))
    room = [max(text_width(cell, size) for cell in column) for column in columns]
    gap = min(22.0, max(8.0, (width - sum(room)) / max(1, len(room) - 1)))
    marks: list[Mark] = []
    for r, row in enumerate((head, *rows)):
        x, y = 0.0, (r + 0.75) * size * 1.55
        for c, cell in enumerate(row):
            at, anchor = (x, "start") if c == 0 else (x + room[c], "end")
            marks.append(
                Text(at, y, cell, size=size, anchor=anchor, color="muted" if r == 0 else "ink")  # type: ignore[arg-type]
            )
            x += room[c] + gap
    total = sum(room) + gap * (len(room) - 1)
    rule = size * 1.55 * 1.08
    marks.append(Shape((("M", (0, rule)), ("L", (total, rule))), stroke="faint", width=1))
    return Block(tuple(marks), total, (len(rows) + 1) * size * 1.55)


def caption(text: str, width: float = WIDTH, *, size: float = 12.5, color: str = "muted") -> Block:
    """A paragraph, wrapped to this width."""
    lines = wrap(text, width, size, lines=20)
    marks = tuple(
        Text(0, (i + 0.8) * size * 1.4, written, size=size, color=color) for i, written in enumerate(lines)
    )
    return Block(marks, width, len(lines) * size * 1.4)
