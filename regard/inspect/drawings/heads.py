"""The heads of a layer in character cells: compact panels side by side, as many as fit into the terminal.

head 1   head 2
    c a t    c a t
K   9 ·      · 4 5
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.drawings.matrix import FAINT, Matrix, scale_notes, small_sign
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import clusters, is_special, shorten, shorten_words, visible
from regard.parts import register
from regard.reporting.terminal import printable

TALLEST = 8
"""Maximum number of letters of a vertical column label."""
GAP = 2


@register("drawing", "heads")
@dataclass(frozen=True, eq=False)
class HeadPanels(Drawing):
    """The heads of one layer: a matrix per head, all with the same rows and columns."""

    rank: ClassVar[int] = 20

    matrices: tuple[Matrix, ...]
    title: str = ""

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[HeadPanels], width: int, ink: Ink) -> Iterator[Text]:
        return _notes(shown, width, ink)


def _lines(panels: HeadPanels, width: int, ink: Ink) -> Iterator[Text]:
    """The layer's title, the names of its axes, and its panels in lines of at most `width` cells."""
    yield Text(shorten_words(panels.title, width), style=ink.style("ink", bold=True))
    matrices = panels.matrices
    if not matrices or not matrices[0].values.size:
        yield Text(fit("(nothing to show)", min(width, 17)), style=ink.style("muted"))
        return
    first = matrices[0]
    axes = f"{first.row_name} down, {first.column_name} across"
    yield Text(shorten(axes, width), style=ink.style("muted"))
    label = min(max(cell_len(visible(row)) for row in first.rows), max(1, width // 4))
    cell, most = _fitting(first, len(matrices), width - label - 1)
    if most == 0:  # even one is too wide: its columns continue below
        for matrix in matrices:
            yield from matrix.terminal(width, ink)
        return
    count = math.ceil(len(matrices) / math.ceil(len(matrices) / most))
    for start in range(0, len(matrices), count):
        if start:
            yield Text()
        yield from _line(matrices[start : start + count], label, cell, ink)


def _notes(layers: Sequence[HeadPanels], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of shades or digits."""
    matrices = [matrix for panels in layers for matrix in panels.matrices if matrix.values.size]
    if matrices:
        zeros = any(matrix.has_zeros for matrix in matrices)
        yield from scale_notes(matrices[0], width, ink, tenths=True, zeros=zeros)


def _fitting(matrix: Matrix, count: int, room: int) -> tuple[int, int]:
    """The characters per column, two if several panels still fit, and the number of panels that fit."""
    fits = {cell: (room + GAP) // (_width(matrix, cell) + GAP) for cell in (2, 1)}
    cell = 2 if fits[2] >= min(2, count) or fits[1] == 0 else 1
    return cell, fits[cell]


def _width(matrix: Matrix, cell: int) -> int:
    return max(cell * len(matrix.columns), cell_len(matrix.title))


def _line(matrices: Sequence[Matrix], label: int, cell: int, ink: Ink) -> Iterator[Text]:
    """Panels side by side: titles, column names above each, and rows, named at the left."""
    wide = max(_width(matrix, cell) for matrix in matrices)
    title = Text(" " * (label + 1), no_wrap=True, overflow="crop")
    for i, matrix in enumerate(matrices):
        title.append(" " * GAP * (i > 0) + fit(matrix.title, wide), style=ink.style("accent"))
    title.rstrip()
    yield title
    first = matrices[0]
    for names in _header(first, cell):
        line = Text(" " * (label + 1), no_wrap=True, overflow="crop")
        for i in range(len(matrices)):
            line.append(" " * GAP * (i > 0))
            for column, name in zip(first.order, names, strict=True):
                line.append(name, style=ink.style("muted" if is_special(first.columns[column]) else "ink"))
            line.append(" " * (wide - cell * len(names)))
        line.rstrip()
        yield line
    for row, piece in enumerate(first.rows):
        line = Text(no_wrap=True, overflow="crop")
        style = ink.style("muted" if is_special(piece) else "ink")
        line.append(fit(visible(piece), label, "right") + " ", style=style)
        for i, matrix in enumerate(matrices):
            line.append(" " * GAP * (i > 0))
            for column in matrix.order:
                line.append(*_cell(matrix, row, column, cell, ink))
            line.append(" " * (wide - cell * len(matrix.columns)))
        if not ink.color:
            line.rstrip()
        yield line


def _header(matrix: Matrix, cell: int) -> list[list[str]]:
    """The column names from left to right, line by line; names that are too wide are vertical."""
    names = [visible(matrix.columns[column]) for column in matrix.order]
    if all(cell_len(name) <= cell for name in names):
        return [[fit(name, cell) for name in names]]
    stacks = [_stack(name) for name in names]
    height = max(map(len, stacks))
    return [
        [fit(stack[i - height + len(stack)] if i >= height - len(stack) else "", cell) for stack in stacks]
        for i in range(height)
    ]


def _stack(name: str) -> list[str]:
    letters = clusters(printable(name))
    return letters if len(letters) <= TALLEST else [*letters[: TALLEST - 1], "…"]


def _cell(matrix: Matrix, row: int, column: int, cell: int, ink: Ink) -> tuple[str, Style]:
    share = matrix.share(row, column)
    if share < FAINT:
        sign = small_sign(matrix, row, column, ink)
    else:
        sign = "" if ink.color else str(min(9, int(10 * share)))
    ground = ink.style("ink") if matrix.is_zero(row, column) else ink.on(share)
    return fit(sign, cell), ground
