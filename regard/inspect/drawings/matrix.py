"""A matrix in character cells: a colored field per cell, or a digit without color."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.handles import WeightHandle
from regard.inspect.layout import EMPTY, IDLE
from regard.inspect.palette import LEVELS
from regard.inspect.terminal.ink import Ink, fit, in_lines
from regard.inspect.writing import clusters, is_special, runs_right_to_left, visible
from regard.parts import register
from regard.trace import Array

FEW = 5
"""Number of items below which a value is faded."""
FAINT = 0.1
"""Shares below this have no number."""
TALLEST = 12
"""Maximum number of letters of a vertical column label."""
MARGIN = 13
"""Width of the numbers beside the rows: a blank, 0.97, a blank, and a bar of seven."""


@register("drawing", "matrix")
@dataclass(frozen=True, eq=False)
class Matrix(Drawing):
    """A number for every pair of a row and a column.

    values   (R, C); `limit` is the value with the full shade
    shades   (R, C) between 0 and 1, if the shade is not values / limit
    truth    (R, C) or None; positive cells are outlined in the color `outline`, explained as `outlined` in the legend
    margin   (R,) or None: a number between 0 and 1 beside each row, named `margin_name`
    numbers  whether to print the values in the cells; None: only if there is room and they matter
    digits   format of a value ("{:.2f}")
    counts   (R, C) or None: the number of items behind each value; a value of few items is faded
    over     the attended input whose weights the values are; "": they are no weights of a position
    pieces   whether the rows are pieces of the output
    idle     (R, C) or None: weights without effect, which get a sign (`Trace.idle`)
    """

    rank: ClassVar[int] = 10

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Array
    truth: Array | None = None
    margin: Array | None = None
    margin_name: str = "p"
    title: str = ""
    row_name: str = ""
    column_name: str = ""
    limit: float = 1.0
    numbers: bool | None = None
    digits: str = "{:.2f}"
    shades: Array | None = None
    outlined: str = "true position"
    outline: str = "truth"
    counts: Array | None = None
    over: str = ""
    pieces: bool = False
    idle: NDArray[np.bool_] | None = None

    def is_idle(self, row: int, column: int) -> bool:
        """Whether the weight of a cell is without effect."""
        return self.idle is not None and bool(self.idle[row, column])

    def handle(self, row: int, column: int) -> WeightHandle | None:
        """What a cell stands for in a live figure."""
        if not self.over or math.isnan(value := self.numbers_by_row[row][column]):
            return None
        return WeightHandle(self.over, row, column, value)

    @cached_property
    def numbers_by_row(self) -> list[list[float]]:
        """The values as plain numbers, which are read faster one by one."""
        return [[float(value) for value in row] for row in self.values.tolist()]

    @cached_property
    def plain(self) -> bool:
        """Whether each cell is a weight of a position and nothing else, which its number tells."""
        special = self.limit <= 0 or any(one is not None for one in (self.idle, self.counts, self.shades))
        return bool(self.over) and not special and not np.isnan(self.values).any()

    @cached_property
    def levels(self) -> list[list[int]]:
        """(R, C) the shade of each weight, from 0 to LEVELS."""
        shares = np.clip(self.values.astype(np.float64) / self.limit, 0.0, 1.0)
        found: list[list[int]] = np.rint(LEVELS * shares).astype(int).tolist()
        return found

    @cached_property
    def tip_numbers(self) -> list[list[str]]:
        """(R, C) each number in words."""
        many = " ".join([self.digits] * len(self.columns))
        found = [many.format(*row).split(" ") for row in self.numbers_by_row]
        for line, row in zip(found, self.numbers_by_row, strict=True):
            for place, number in enumerate(line):
                if number == self.zero:
                    line[place] = f"{row[place]:.1g}" if row[place] else "0"
        return found

    @cached_property
    def zero(self) -> str:
        return self.digits.format(0.0)

    @cached_property
    def shown_rows(self) -> list[str]:
        return [visible(row) for row in self.rows]

    @cached_property
    def shown_columns(self) -> list[str]:
        return [visible(column) for column in self.columns]

    def is_weak(self, row: int, column: int) -> bool:
        """Whether a value comes from so few items that it means little."""
        return self.counts is not None and bool(self.counts[row, column] < FEW)

    @cached_property
    def mirrored(self) -> bool:
        """Whether the first column is on the right, because the columns are in a right-to-left script."""
        return runs_right_to_left(self.columns)

    @cached_property
    def order(self) -> list[int]:
        """The columns from left to right."""
        places = list(range(len(self.columns)))
        return places[::-1] if self.mirrored else places

    def share(self, row: int, column: int) -> float:
        """The shade of a cell, between 0 and 1: its value as a share of the limit, or its own shade."""
        if self.shades is not None:
            return float(self.shades[row, column])
        value = self.numbers_by_row[row][column]
        return 0.0 if math.isnan(value) or self.limit <= 0 else min(1.0, max(0.0, value / self.limit))

    def is_true(self, row: int, column: int) -> bool:
        return self.truth is not None and bool(self.truth[row, column] > 0)

    def is_zero(self, row: int, column: int) -> bool:
        """Whether a weight is exactly 0. Such cells stay empty, to differ from the faintest shade."""
        return self.shades is None and self.numbers_by_row[row][column] == 0

    @property
    def has_zeros(self) -> bool:
        return self.shades is None and bool((self.values == 0).any())

    @property
    def has_small(self) -> bool:
        """Whether a weight is drawn as the dot of small ones."""
        drawn = ~np.isnan(self.values)
        if self.shades is not None:
            return bool((drawn & (self.shades < FAINT)).any())
        small = self.values < FAINT * self.limit if self.limit > 0 else np.ones_like(drawn)
        return bool((drawn & small & (self.values != 0)).any())

    def tip(self, row: int, column: int) -> str:
        """A cell in words. A weight that would round to 0 keeps its first digit; an exact 0 is a plain 0."""
        value = self.numbers_by_row[row][column]
        number = self.digits.format(value)
        if self.is_zero(row, column):
            number = "0"
        elif value and number == self.zero:
            number = f"{value:.1g}"
        told = f"{self.shown_rows[row]} ← {self.shown_columns[column]}  {number}"
        told += f"\n{IDLE}" if self.is_idle(row, column) else ""
        return f"{told}\n{self.outlined}" if self.is_true(row, column) else told

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)

    @classmethod
    def terminal_legend(cls, shown: Sequence[Matrix], width: int, ink: Ink) -> Iterator[Text]:
        """The legend of shades or digits, and of brackets, on as many lines as needed."""
        drawn = [matrix for matrix in shown if matrix.rows and matrix.columns]
        if not drawn or all(matrix.numbers for matrix in drawn):
            return iter(())
        first, zeros = drawn[0], any(matrix.has_zeros for matrix in drawn)
        small = any(matrix.has_small for matrix in drawn)
        tenths = not _plan(first, width, ink).numbers
        return scale_notes(first, width, ink, tenths=tenths, zeros=zeros, small=small)


@dataclass(frozen=True)
class _Plan:
    """Widths of `label` and `cell` in characters, and the columns of each band."""

    label: int
    cell: int
    numbers: bool
    margin: bool
    downwards: bool
    bands: tuple[tuple[int, ...], ...]


def _lines(matrix: Matrix, width: int, ink: Ink) -> Iterator[Text]:
    """The matrix in lines of at most `width` cells; columns that do not fit continue in another band below."""
    if matrix.title:
        yield Text(fit(matrix.title, min(width, cell_len(matrix.title))), style=ink.style("ink", bold=True))
    if not matrix.rows or not matrix.columns:
        yield Text(fit("(nothing to show)", min(width, 17)), style=ink.style("muted"))
        return
    plan = _plan(matrix, width, ink)
    for number, band in enumerate(plan.bands):
        if number:
            yield Text()
        last = number == len(plan.bands) - 1
        yield from _header(matrix, band, plan, ink, last)
        for row in range(len(matrix.rows)):
            yield _row(matrix, row, band, plan, ink, last)


def scale_notes(
    matrix: Matrix, width: int, ink: Ink, *, tenths: bool, zeros: bool, small: bool = True
) -> Iterator[Text]:
    """The scale of a matrix.

    tenths   whether weights are single digits without color
    zeros    whether cells of exactly 0 differ from those of small weights
    small    whether a cell has a small weight
    """
    parts = []
    if ink.color:
        scale = Text("0 ", style=ink.style("muted"))
        for step in range(12):
            scale.append(" ", style=ink.on((step + 0.5) / 12))
        parts.append(scale.append(f" {matrix.limit:g}"))
    if small and (zeros or not ink.color):
        parts.append(Text(f"· under {FAINT * matrix.limit:.3g}", style=ink.style("muted")))
    if tenths and not ink.color:
        parts += [Text(f"1 from {0.1 * matrix.limit:.3g}"), Text(f"… 9 from {0.9 * matrix.limit:.3g}")]
    if zeros:
        parts.append(Text(f"blank: {EMPTY}", style=ink.style("muted")))
    if matrix.truth is not None:
        parts.append(Text(f"[ ] {matrix.outlined}", style=ink.style("muted")))
    if matrix.idle is not None:
        parts.append(Text(f"× {IDLE}", style=ink.style("muted")))
    return in_lines(parts, width)


def _plan(matrix: Matrix, width: int, ink: Ink) -> _Plan:
    labels = [cell_len(visible(row)) for row in matrix.rows]
    label = min(max(labels), max(1, width // 3))
    brackets = 2 if matrix.truth is not None else 0
    margin = matrix.margin is not None and width - label - MARGIN >= 16
    room = max(1, width - label - 1 - (MARGIN if margin else 0))
    widest = max(cell_len(visible(column)) for column in matrix.columns)
    number = max(
        len(_number(matrix, row, c)) for row in range(len(matrix.rows)) for c in range(len(matrix.columns))
    ) + (matrix.idle is not None)
    # From the widest to the narrowest: horizontal labels, then numbers in the cells, then color or digits.
    tightest = 2 if ink.color else 2 + brackets // 2
    choices = [(max(widest, number + brackets) + 1, True), (number + brackets + 1, True), (tightest, False)]
    fitting = [
        (cell, numbers) for cell, numbers in choices if cell * len(matrix.columns) <= room and cell <= 11
    ]
    cell, numbers = fitting[0] if fitting else choices[-1]
    cell = min(cell, room)
    order = matrix.order
    count = max(1, room // cell)
    count = math.ceil(
        len(order) / math.ceil(len(order) / count)
    )  # bands of equal size, without a shorter last one
    bands = tuple(tuple(order[i : i + count]) for i in range(0, len(order), count))
    return _Plan(label, cell, numbers, margin, widest > max(1, cell - 1), bands)


def _header(matrix: Matrix, band: Sequence[int], plan: _Plan, ink: Ink, last: bool) -> Iterator[Text]:
    names = [visible(matrix.columns[column]) for column in band]
    indent = " " * (plan.label + 1)
    if not plan.downwards:
        lines = [[fit(name, plan.cell, "center") for name in names]]
    else:
        stacks = [_stack(name) for name in names]
        height = max(map(len, stacks))
        stacks = [[""] * (height - len(stack)) + stack for stack in stacks]  # aligned at the bottom
        lines = [[fit(stack[i], plan.cell, "center") for stack in stacks] for i in range(height)]
    for i, cells in enumerate(lines):
        line = Text(indent, no_wrap=True, overflow="crop")
        for column, cell in zip(band, cells, strict=True):
            line.append(
                cell, style=ink.style("muted" if is_special(matrix.columns[column]) else "ink", bold=True)
            )
        if last and plan.margin and i == len(lines) - 1:
            line.append("  " + fit(matrix.margin_name, MARGIN - 2), style=ink.style("muted"))
        line.rstrip()
        yield line


def _stack(name: str) -> list[str]:
    """The letters of a label from top to bottom."""
    letters = clusters(name)
    return letters if len(letters) <= TALLEST else [*letters[: TALLEST - 1], "…"]


def _row(matrix: Matrix, row: int, band: Sequence[int], plan: _Plan, ink: Ink, last: bool) -> Text:
    name = matrix.rows[row]
    line = Text(no_wrap=True, overflow="crop")
    line.append(
        fit(visible(name), plan.label, "right") + " ", style=ink.style("muted" if is_special(name) else "ink")
    )
    for column in band:
        share = matrix.share(row, column)
        true = matrix.is_true(row, column)
        text = _cell_text(matrix, row, column, plan, ink)
        if true:
            text = f"[{text or ' ' * (plan.cell > 2)}]"
        ground = ink.style("ink", bold=true) if matrix.is_zero(row, column) else ink.on(share, bold=true)
        line.append(fit(text, plan.cell, "center"), style=ground)
    if last and plan.margin and matrix.margin is not None:
        value = float(matrix.margin[row])
        line.append(f"  {value:.2f} ", style=ink.style("muted"))
        line.append(ink.bar(value, MARGIN - 7))
    if not ink.color:
        line.rstrip()
    return line


def _cell_text(matrix: Matrix, row: int, column: int, plan: _Plan, ink: Ink) -> str:
    share = matrix.share(row, column)
    if math.isnan(float(matrix.values[row, column])):
        return ""
    sign = "×" if matrix.is_idle(row, column) else ""
    if share < FAINT and not matrix.numbers:
        return small_sign(matrix, row, column, ink) + sign
    if plan.numbers:
        return _number(matrix, row, column) + sign
    return ("" if ink.color else str(min(9, int(10 * share)))) + sign


def small_sign(matrix: Matrix, row: int, column: int, ink: Ink) -> str:
    """A blank for an exact zero and a dot for nearly zero; without exact zeros, the shade alone."""
    if matrix.is_zero(row, column) or (ink.color and not matrix.has_zeros):
        return ""
    return "·"


def _number(matrix: Matrix, row: int, column: int) -> str:
    number = matrix.digits.format(float(matrix.values[row, column]))
    if set(number) <= set("0."):
        return "0"
    return number[1:] if number.startswith("0.") else number
