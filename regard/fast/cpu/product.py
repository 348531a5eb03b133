"""Products of few rows with a weight, inside a kernel: on one core, near its peak speed.

A library's product of 64 rows spends much of its time on waking the other cores, waiting for them, and
packing its factors. Here the weight is packed once for a whole sequence (`panels`), and each core has its own
rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from regard.fast.cpu.tile import HEIGHTS, WIDTH, first_tile, fourth_tile, second_tile, third_tile
from regard.structures.kernels.cpu.compilation import part

Array = Any
FIRST, SECOND, THIRD, _ = HEIGHTS


class Window(NamedTuple):
    """Rows row, row + step, … of an array, from a column on. A named tuple, because the type of a plain tuple
    includes its literal integers, and numba would compile a product for each."""

    array: Array
    row: int
    step: int
    column: int


class Target(NamedTuple):
    """A window, up to the last column, into which a product is written or, with `add`, added."""

    array: Array
    row: int
    step: int
    column: int
    add: bool


@part
def _tiles(count: int, source: Window, panels: Array, panel: int, begin: Window, target: Target) -> None:
    rows, place, step, column = source
    start, start_place, start_step, start_column = begin
    out, out_place, out_step, out_column, add = target
    i = 0
    while i + FIRST <= count:
        first_tile(rows, place + i * step, step, column, panels, panel,
                   start, start_place + i * start_step, start_step, start_column, add,
                   out, out_place + i * out_step, out_step, out_column)  # fmt: skip
        i += FIRST
    while i + SECOND <= count:
        second_tile(rows, place + i * step, step, column, panels, panel,
                    start, start_place + i * start_step, start_step, start_column, add,
                    out, out_place + i * out_step, out_step, out_column)  # fmt: skip
        i += SECOND
    while i + THIRD <= count:
        third_tile(rows, place + i * step, step, column, panels, panel,
                   start, start_place + i * start_step, start_step, start_column, add,
                   out, out_place + i * out_step, out_step, out_column)  # fmt: skip
        i += THIRD
    if i < count:
        fourth_tile(rows, place + i * step, step, column, panels, panel,
                    start, start_place + i * start_step, start_step, start_column, add,
                    out, out_place + i * out_step, out_step, out_column)  # fmt: skip


@part
def multiply(count: int, source: Window, panels: Array, target: Target) -> None:
    """Write or add the product of `count` rows and a weight in `panels` to the target."""
    out, out_place, out_step, out_column, add = target
    for panel in range(len(panels)):
        low = out_column + panel * WIDTH
        if low + WIDTH <= out.shape[1]:
            begin = Window(out, out_place, out_step, low)
            _tiles(count, source, panels, panel, begin, Target(out, out_place, out_step, low, add))
        else:
            part = np.empty((count, WIDTH), out.dtype)
            _tiles(count, source, panels, panel, Window(part, 0, 1, 0), Target(part, 0, 1, 0, False))
            for i in range(count):
                for j in range(out.shape[1] - low):
                    before = out[out_place + i * out_step, low + j] if add else out.dtype.type(0)
                    out[out_place + i * out_step, low + j] = before + part[i, j]


@part
def multiply_from(count: int, source: Window, panels: Array, begin: Window, out: Window) -> None:
    """Write begin + the product of `count` rows and a weight in `panels`. Both windows reach to the end of the last
    panel."""
    for panel in range(len(panels)):
        more = panel * WIDTH
        _tiles(count, source, panels, panel, Window(begin.array, begin.row, begin.step, begin.column + more),
               Target(out.array, out.row, out.step, out.column + more, True))  # fmt: skip
