"""Layout of a matrix: row labels on the left, column labels above, numbers beside the rows on the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from regard.inspect.cells import CellRow, WeightSquares
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.handles import PieceHandle, WordHandle
from regard.inspect.layout import Block, idle_sign
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Tags, Text
from regard.inspect.writing import is_special, text_width, visible

BAR = 44.0
"""Width of a full bar in the margin."""

NAME = 22.0
"""Height of the name of an axis."""

TIPS_UP_TO = 10_000
"""Maximum number of cells with tooltips; with more, the file would consist mostly of tooltips."""

WIDER, AIR = 1.06, 0.3
"""Factor by which letters may exceed the estimate of `text_width`, and the minimum distance between labels, in ems."""

NUMBERED = 24
"""Minimum side of a cell with a number in it."""

NUMBERS_FROM = 0.1
"""Weights below this share of the limit are not printed; color and tooltip show them."""


@dataclass(frozen=True)
class _Sizes:
    cell: float
    gap: float
    font: float
    radius: float

    @property
    def pitch(self) -> float:
        return self.cell + self.gap


def _sizes(matrix: Matrix) -> _Sizes:
    """Cell sizes that shrink with the number of cells: a word fills a slide, a paragraph still fits on a screen."""
    most = max(len(matrix.rows), len(matrix.columns))
    for limit, sizes in (
        (14, _Sizes(32, 2, 14, 3)),
        (24, _Sizes(24, 1.5, 12.5, 2)),
        (45, _Sizes(17, 1, 11, 1.5)),
        (90, _Sizes(11, 0.5, 9, 0)),
    ):
        if most <= limit:
            return sizes
    return _Sizes(7, 0, 6.5, 0)


def draw_matrix(matrix: Matrix, *, row_labels: bool = True, margin: bool = True) -> Block:
    """The matrix as a block; its baseline is the upper edge of the cells, so that several can share their rows."""
    sizes = _sizes(matrix)
    rows = [visible(row) for row in matrix.rows]
    left = max((text_width(row, sizes.font) for row in rows), default=0.0) + 10 if row_labels else 0.0
    named = row_labels and bool(matrix.row_name) and bool(rows)
    left += NAME if named else 0.0
    header, top, overhang = _column_labels(matrix, sizes, left)
    if named:
        middle = top + len(rows) * sizes.pitch / 2 + text_width(matrix.row_name, 11) / 2
        header.append(Text(10, middle, matrix.row_name, size=11, color="muted", italic=True, rotate=-90))
    if matrix.title:
        header.append(Text(left, 12, matrix.title, size=13, bold=True))
        overhang = max(
            overhang, left + text_width(matrix.title, 13) * 1.05 - left - len(matrix.columns) * sizes.pitch
        )
    show_margin = margin and matrix.margin is not None
    marks: list[Mark] = [Group(tuple(header), kind="columns")]
    body = [
        _row(matrix, row, left, top, sizes, rows[row] if row_labels else "", show_margin)
        for row in range(len(rows))
    ]
    marks.append(Group(tuple(body), kind="rows"))
    right = left + len(matrix.columns) * sizes.pitch
    width = right + max(0.0, overhang)
    if show_margin:
        marks.append(
            Text(right + 10 + BAR + 6, top - 8, matrix.margin_name, size=11, color="muted", italic=True)
        )
        width = max(width, right + 10 + BAR + 34)
    if not matrix.rows or not matrix.columns:
        marks.append(Text(left, top + 16, "nothing to show", size=13, color="muted", italic=True))
        width, height = max(width, left + 110), top + 26.0
    else:
        height = top + len(rows) * sizes.pitch
    return Block((Group(tuple(marks), kind="matrix", content=matrix),), width, height, baseline=top)


def _column_labels(matrix: Matrix, sizes: _Sizes, left: float) -> tuple[list[Mark], float, float]:
    """The labels above the cells, their height, and how far the last one extends to the right."""
    labels = [visible(column) for column in matrix.columns]
    widest = max((text_width(label, sizes.font) for label in labels), default=0.0)
    upright = fits_upright([labels[column] for column in matrix.order], sizes.font, sizes.pitch)
    named = bool(matrix.column_name) and bool(labels) and matrix.column_name != matrix.title
    title = (24.0 if matrix.title else 0.0) + (NAME if named else 0.0)
    angle = 0.0 if upright else -50.0 if sizes.cell > 11 else -90.0
    rise, run = -math.sin(math.radians(angle)), math.cos(math.radians(angle))
    top = title + (sizes.font + 8 if upright else widest * rise + sizes.font * max(0.6, run) + 6)
    marks: list[Mark] = []
    overhang = 0.0
    if named:
        end = len(labels) * sizes.pitch / 2
        x = left + max(0.0, end - text_width(matrix.column_name, 11) / 2)
        marks.append(Text(x, title - 6, matrix.column_name, size=11, color="muted", italic=True))
        overhang = text_width(matrix.column_name, 11)
    for place, column in enumerate(matrix.order):
        middle = left + (place + 0.5) * sizes.pitch - sizes.gap / 2
        # A rotated label has the center of its first letter above the center of the column.
        x = middle if upright else middle + sizes.font * 0.33 * rise
        marks.append(
            Text(x, top - 7, labels[column], size=sizes.font, anchor="middle" if upright else "start", rotate=angle,
                 color="muted" if is_special(matrix.columns[column]) else "ink", tags=(("column", str(column)),),
                 at=WordHandle(matrix.over, column) if matrix.over else None)
        )  # fmt: skip
        if not upright:
            overhang = max(overhang, x + text_width(labels[column], sizes.font) * run - left)
    return marks, top, overhang - len(matrix.columns) * sizes.pitch


def fits_upright(labels: Sequence[str], font: float, pitch: float) -> bool:
    """Whether labels fit side by side, centered above their columns, with space between them."""
    widths = [text_width(label, font) * WIDER for label in labels]
    closest = max(((one + other) / 2 for one, other in pairwise(widths)), default=0.0)
    return max(widths, default=0.0) <= pitch and closest + AIR * font <= pitch


def _row(matrix: Matrix, row: int, left: float, top: float, sizes: _Sizes, label: str, margin: bool) -> Group:
    y = top + row * sizes.pitch
    middle = y + sizes.cell / 2 + sizes.font * 0.35
    right = left + len(matrix.columns) * sizes.pitch
    # Invisible, but makes the whole row respond to a pointer, gaps included.
    marks: list[Mark] = [Rect(0, y - sizes.gap / 2, right, sizes.pitch, fill="paper", opacity=0)]
    outlines: list[Mark] = []
    if label:
        color = "muted" if is_special(matrix.rows[row]) else "ink"
        piece = PieceHandle(row) if matrix.pieces else None
        marks.append(Text(left - 9, middle, label, size=sizes.font, anchor="end", color=color, at=piece))
    for place, column in enumerate(matrix.order) if matrix.truth is not None else ():
        x = left + place * sizes.pitch
        if matrix.is_true(row, column):
            inset = 0.75 if sizes.cell > 11 else 0.0
            side = sizes.cell - 2 * inset
            outlines.append(
                Rect(x + inset, y + inset, side, side, stroke=matrix.outline, radius=sizes.radius,
                     stroke_width=min(2.25, sizes.cell / 9), tags=(("truth", "1"),))
            )  # fmt: skip
    if margin and matrix.margin is not None:
        outlines += _margin(matrix, float(matrix.margin[row]), right + 10, y, sizes)
    tags = (("row", str(row)), ("label", matrix.rows[row]))

    def cells() -> list[Mark]:
        return [
            mark
            for place, column in enumerate(matrix.order)
            for mark in _cell(matrix, row, column, left + place * sizes.pitch, y, sizes)
        ]

    if matrix.plain and sizes.cell < NUMBERED and matrix.values.size <= TIPS_UP_TO:
        return Group(
            CellRow(marks, _plain(matrix, row, left, y, sizes), outlines, cells), kind="row", tags=tags
        )
    return Group((*marks, *cells(), *outlines), kind="row", tags=tags)


def _plain(matrix: Matrix, row: int, left: float, y: float, sizes: _Sizes) -> WeightSquares:
    """The cells of a row by their numbers."""
    true = [] if matrix.truth is None else [c for c, one in enumerate(matrix.truth[row]) if one > 0]
    return WeightSquares(
        left, y, sizes.pitch, sizes.cell, sizes.radius, matrix.mirrored, sizes.cell > 11, matrix.over, row,
        matrix.shown_rows[row], tuple(matrix.shown_columns), matrix.numbers_by_row[row], matrix.levels[row],
        matrix.tip_numbers[row], true, matrix.outlined,
    )  # fmt: skip


def _cell(matrix: Matrix, row: int, column: int, x: float, y: float, sizes: _Sizes) -> list[Mark]:
    value = matrix.numbers_by_row[row][column]
    shade = Shade(matrix.share(row, column))
    few = matrix.values.size <= TIPS_UP_TO
    tip = matrix.tip(row, column) if few else ""
    at = matrix.handle(row, column) if few else None
    tags = (("column", str(column)), ("value", f"{value:.6g}"))
    if matrix.is_zero(row, column) or math.isnan(value):
        return [replace(_empty(x, y, sizes, tip, tags), at=at)]
    if matrix.is_weak(row, column):
        # A thin edge instead of the shade: a few items are no firm value.
        shade = Shade(0.0)
        marks: list[Mark] = [
            Rect(x + 0.5, y + 0.5, sizes.cell - 1, sizes.cell - 1, fill="paper", stroke="muted", stroke_width=0.75,
                 radius=sizes.radius, tip=tip, tags=tags, at=at)
        ]  # fmt: skip
    else:
        marks = [
            Rect(x, y, sizes.cell, sizes.cell, fill=shade, radius=sizes.radius, tip=tip, tags=tags, at=at)
        ]
    wanted = matrix.numbers if matrix.numbers is not None else shade.value >= NUMBERS_FROM
    if wanted and sizes.cell >= NUMBERED:
        number = matrix.digits.format(value)
        short = number.lstrip("0") if number.startswith("0.") and float(number) else number
        short = "0" if set(short) <= set("-0.") else short.replace("-0.", "−.").replace("-", "−")
        size = min(sizes.cell / 2.9, 0.9 * sizes.cell / max(1.0, text_width(short, 1.0)))
        marks.append(
            Text(x + sizes.cell / 2, y + sizes.cell / 2 + size * 0.36, short, size=round(size, 1), anchor="middle",
                 color="muted" if matrix.is_weak(row, column) else Over(shade))
        )  # fmt: skip
    if matrix.is_idle(row, column):
        roomy = sizes.cell >= 24  # beside the number, else over the cell
        reach = 3.0 if roomy else sizes.cell / 3
        aside = sizes.cell - reach - 3 if roomy else sizes.cell / 2
        marks += idle_sign(x + aside, y + sizes.cell - aside, reach, Over(shade))
    return marks


def _empty(x: float, y: float, sizes: _Sizes, tip: str, tags: Tags) -> Rect:
    """The cell of an exact zero: empty, with a thin edge if there is room."""
    return Rect(
        x, y, sizes.cell, sizes.cell, fill="paper", stroke="faint" if sizes.cell > 11 else None, stroke_width=0.75,
        radius=sizes.radius, tip=tip, tags=tags,
    )  # fmt: skip


def _margin(matrix: Matrix, value: float, x: float, y: float, sizes: _Sizes) -> list[Mark]:
    """A bar whose length shows the number, and the number."""
    share = min(1.0, max(0.0, 0.0 if math.isnan(value) else value))
    thick = max(2.0, sizes.cell * 0.22)
    middle = y + sizes.cell / 2
    size = min(11.0, sizes.cell * 0.8)
    return [
        Rect(x, middle - thick / 2, BAR, thick, fill="faint", radius=thick / 2),
        Rect(x, middle - thick / 2, max(thick, BAR * share), thick, fill="accent", radius=thick / 2,
             tip=f"{matrix.margin_name} {value:.3f}"),
        Text(x + BAR + 6, middle + size * 0.36, f"{value:.2f}", size=size, color="muted"),
    ]  # fmt: skip
