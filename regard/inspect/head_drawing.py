"""Layout of the heads of a layer: rows of small heatmaps, with piece names on the outer axes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import fits_upright
from regard.inspect.layout import BOLDER, Block, below, beside
from regard.inspect.palette import LEVELS, Shade
from regard.inspect.scene import Group, Mark, Rect, Shape, Step, Text
from regard.inspect.writing import is_special, shorten, text_width, visible

SIDE = 210.0
"""Approximate width or height of a panel of many pieces; cells and labels shrink accordingly."""
LARGEST, SMALLEST = 16.0, 3.0
"""Largest and smallest distance between cells."""
BIG_LABEL, SMALL_LABEL = 11.0, 7.0
LONGEST_LABEL = 14
"""Maximum number of characters of a label; tooltips show the rest."""
TITLE, NAME = 11.5, 10.5
"""Font sizes of panel titles and axis names."""
GAP = 14.0


@dataclass(frozen=True)
class _Sizes:
    """Distance between cells, gap between cells, and labels: their interval in pieces, and their font."""

    pitch: float
    gap: float
    font: float
    every: int

    @classmethod
    def of(cls, count: int, *, gaps: bool) -> _Sizes:
        pitch = min(LARGEST, max(SMALLEST, math.floor(2 * SIDE / max(1, count)) / 2))
        font = min(BIG_LABEL, max(SMALL_LABEL, pitch * 0.92))
        gap = (1.0 if pitch >= 10 else 0.5 if pitch >= 5 else 0.0) if gaps else 0.0
        return cls(pitch, gap, font, math.ceil(font / pitch - 1e-9))


def draw_heads(panels: HeadPanels, *, widest: float, tips: bool = True) -> Block:
    """The layer's title, then its panels in as few rows of similar length as fit into `widest`.

    tips   draw each cell separately, with a tooltip; otherwise all cells of a shade are one mark
    """
    heading = [Text(0, 12, shorten(panels.title, 120), size=13, bold=True)]
    width = text_width(shorten(panels.title, 120), 13 * BOLDER)
    if not panels.matrices or not panels.matrices[0].values.size:
        nothing = Text(0, 36, "nothing to show", size=13, color="muted", italic=True)
        return _layer([*heading, nothing], panels, max(width, 110.0), 42.0)
    first = panels.matrices[0]
    sizes = _Sizes.of(max(len(first.rows), len(first.columns)), gaps=tips)
    left = NAME + 8 + max(text_width(_label(row), sizes.font) for row in first.rows) + 6
    lines = [
        beside(
            [
                _panel(matrix, sizes, left if i == 0 else 0.0, tips=tips, columns=number == 0)
                for i, matrix in enumerate(line)
            ],
            gap=GAP,
        )
        for number, line in enumerate(_lines(panels.matrices, sizes, left, widest))
    ]
    body = below(lines, gap=GAP)
    name = first.column_name
    middle = left + (lines[-1].width - left) / 2
    middle = max(middle, left + text_width(name, NAME) / 2)
    heading.append(
        Text(
            middle, 24 + body.height + NAME + 4, name, size=NAME, anchor="middle", color="muted", italic=True
        )
    )
    width = max(width, body.width, middle + text_width(name, NAME) / 2)
    return _layer([*heading, body.moved(0, 24)], panels, width, 24 + body.height + NAME + 8)


def _layer(marks: Sequence[Mark], panels: HeadPanels, width: float, height: float) -> Block:
    return Block((Group(tuple(marks), kind="heads", content=panels),), width, height)


def _lines(matrices: Sequence[Matrix], sizes: _Sizes, left: float, widest: float) -> list[Sequence[Matrix]]:
    """The panels of each row, distributed as evenly as possible."""
    room = _width(matrices[-1], sizes) + GAP
    most = max(1, int((widest - left + GAP) // room))
    count = math.ceil(len(matrices) / math.ceil(len(matrices) / most))
    return [matrices[i : i + count] for i in range(0, len(matrices), count)]


def _width(matrix: Matrix, sizes: _Sizes) -> float:
    return max(len(matrix.columns) * sizes.pitch, text_width(matrix.title, TITLE) + 2)


def _panel(matrix: Matrix, sizes: _Sizes, left: float, *, tips: bool, columns: bool) -> Block:
    """One head: its title, column names if requested, and row names if there is room at the left."""
    header, top = _column_labels(matrix, sizes, left) if columns else ([], 0.0)
    header = [Text(left, TITLE, matrix.title, size=TITLE, color="ink"), *header]
    top += TITLE + 7
    wide, high = (len(pieces) * sizes.pitch - sizes.gap for pieces in (matrix.columns, matrix.rows))
    edge = Rect(
        left - 0.75, top - 0.75, wide + 1.5, high + 1.5, fill="paper", stroke="faint", stroke_width=0.75
    )
    body = _rows(matrix, sizes, left, top) if tips else _shades(matrix, sizes, left, top)
    marks: list[Mark] = [Group(tuple(header), kind="columns"), edge, Group(tuple(body), kind="rows")]
    height = top + high
    if left:
        marks += _row_labels(matrix, sizes, left, top)
        room = text_width(matrix.row_name, NAME)
        marks.append(
            Text(NAME, top + high / 2, matrix.row_name, size=NAME, anchor="middle", rotate=-90, color="muted",
                 italic=True)
        )  # fmt: skip
        height = max(height, top + high / 2 + room / 2)
    return Block((Group(tuple(marks), kind="matrix"),), left + _width(matrix, sizes), height, baseline=top)


def _label(piece: str) -> str:
    return shorten(visible(piece), LONGEST_LABEL)


def _column_labels(matrix: Matrix, sizes: _Sizes, left: float) -> tuple[list[Mark], float]:
    """The labels below a panel's title, upright if all are narrow, and their height."""
    labels = [_label(column) for column in matrix.columns]
    widest = max(text_width(label, sizes.font) for label in labels)
    shown = [labels[column] for column in matrix.order if column % sizes.every == 0]
    upright = fits_upright(shown, sizes.font, sizes.pitch * sizes.every)
    height = sizes.font + 3 if upright else widest + 4
    foot = TITLE + 7 + height - 4
    marks: list[Mark] = []
    for place, column in enumerate(matrix.order):
        if column % sizes.every:
            continue
        middle = left + place * sizes.pitch + (sizes.pitch - sizes.gap) / 2
        color = "muted" if is_special(matrix.columns[column]) else "ink"
        tags = (("column", str(column)),)
        marks.append(
            Text(middle, foot, labels[column], size=sizes.font, anchor="middle", color=color, tags=tags)
            if upright
            else Text(middle + sizes.font * 0.35, foot, labels[column], size=sizes.font, rotate=-90, color=color,
                      tags=tags)
        )  # fmt: skip
    return marks, height


def _row_labels(matrix: Matrix, sizes: _Sizes, left: float, top: float) -> list[Mark]:
    return [
        Text(left - 6, top + row * sizes.pitch + (sizes.pitch - sizes.gap) / 2 + sizes.font * 0.35, _label(piece),
             size=sizes.font, anchor="end", color="muted" if is_special(piece) else "ink")
        for row, piece in enumerate(matrix.rows)
        if row % sizes.every == 0
    ]  # fmt: skip


def _rows(matrix: Matrix, sizes: _Sizes, left: float, top: float) -> list[Mark]:
    """A cell with a tooltip for each weight; an exact zero has only the tooltip."""
    side = sizes.pitch - sizes.gap
    marks: list[Mark] = []
    for row, label in enumerate(matrix.rows):
        cells = []
        for place, column in enumerate(matrix.order):
            value = float(matrix.values[row, column])
            fill = "paper" if matrix.is_zero(row, column) else Shade(matrix.share(row, column))
            cells.append(
                Rect(left + place * sizes.pitch, top + row * sizes.pitch, side, side, fill=fill,
                     tip=matrix.tip(row, column), tags=(("column", str(column)), ("value", f"{value:.6g}")))
            )  # fmt: skip
        marks.append(Group(tuple(cells), kind="row", tags=(("row", str(row)), ("label", label))))
    return marks


def _shades(matrix: Matrix, sizes: _Sizes, left: float, top: float) -> list[Mark]:
    """All cells of a shade as one mark, with neighbors in a row joined, to keep files of large figures small."""
    boxes: dict[int, list[Step]] = {}
    order = matrix.order
    for row in range(len(matrix.rows)):
        levels = [
            None if matrix.is_zero(row, column) else Shade(matrix.share(row, column)).level
            for column in order
        ]
        start = 0
        for place in range(1, len(levels) + 1):
            if place < len(levels) and levels[place] == levels[start]:
                continue
            level = levels[start]
            if level is not None:
                x, y = left + start * sizes.pitch, top + row * sizes.pitch
                right, foot = left + place * sizes.pitch, y + sizes.pitch
                boxes.setdefault(level, []).extend(
                    (("M", (x, y)), ("L", (right, y)), ("L", (right, foot)), ("L", (x, foot)), ("Z", ()))
                )
            start = place
    return [
        Shape(tuple(steps), stroke=None, fill=Shade(level / LEVELS)) for level, steps in sorted(boxes.items())
    ]
