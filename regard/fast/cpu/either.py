# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Products of a search with weights in single precision or as bytes.

A kernel is compiled for the type of its weights: an array of panels (`layout.panels`) or `ByteWeight`. The
functions here are written for both, and the compiler takes the one that fits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from regard.fast.cpu.byte_tile import first_byte_tile, fourth_byte_tile, second_byte_tile, third_byte_tile
from regard.fast.cpu.bytes import ByteRows, ByteWeight, as_bytes
from regard.fast.cpu.product import FIRST, SECOND, THIRD, Target, Window, multiply, multiply_from
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import part

Array = Any
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def _in_bytes(weight: Any) -> bool:
    """Whether the type of a weight is `ByteWeight`."""
    return isinstance(weight, types.BaseNamedTuple) and getattr(weight, "instance_class", None) is ByteWeight


def panels_in(weight: Any) -> int:
    """The number of panels, or of layers."""
    raise NotImplementedError


def depth_of(weight: Any) -> int:
    """The length of the rows that the weight multiplies."""
    raise NotImplementedError


def some_panels(weight: Any, first: int, end: int) -> Any:
    raise NotImplementedError


def of_layer(weight: Any, layer: int) -> Any:
    """The weight of one layer, from those of all."""
    raise NotImplementedError


def read_rows(count: int, source: Window, weight: Any) -> Any:
    """Rows as the weight multiplies them: the window itself, or `ByteRows`."""
    raise NotImplementedError


def multiply_rows(count: int, rows: Any, weight: Any, target: Target) -> None:
    """Write or add the product of rows, as `read_rows` gives them, and a weight to the target."""
    raise NotImplementedError


def multiply_rows_from(count: int, rows: Any, weight: Any, begin: Window, out: Window) -> None:
    """Write begin + the product of rows and a weight, as `multiply_from`."""
    raise NotImplementedError


@overload(panels_in, jit_options=_OPTIONS, strict=False)
def _panels_in(weight: Any) -> Any:
    if _in_bytes(weight):
        return lambda weight: len(weight.values)
    return lambda weight: len(weight)


@overload(depth_of, jit_options=_OPTIONS, strict=False)
def _depth_of(weight: Any) -> Any:
    if _in_bytes(weight):
        return lambda weight: weight.depth
    return lambda weight: weight.shape[1]


@overload(some_panels, jit_options=_OPTIONS, strict=False)
def _some_panels(weight: Any, first: Any, end: Any) -> Any:
    if _in_bytes(weight):
        return lambda weight, first, end: ByteWeight(
            weight.depth, weight.values[first:end], weight.scales[first:end], weight.starts[first:end]
        )
    return lambda weight, first, end: weight[first:end]


@overload(of_layer, jit_options=_OPTIONS, strict=False)
def _of_layer(weight: Any, layer: Any) -> Any:
    if _in_bytes(weight):
        return lambda weight, layer: ByteWeight(
            weight.depth, weight.values[layer], weight.scales[layer], weight.starts[layer]
        )
    return lambda weight, layer: weight[layer]


@overload(read_rows, jit_options=_OPTIONS, strict=False)
def _read_rows(count: Any, source: Any, weight: Any) -> Any:
    if not _in_bytes(weight):
        return lambda count, source, weight: source

    def rounded(count: int, source: Window, weight: Any) -> Any:
        made = ByteRows(np.empty((count, weight.values.shape[1] * 4), np.uint8), np.empty(count, np.float32))
        as_bytes(count, source.array, source.row, source.step, source.column, weight.depth, made)
        return made

    return rounded


@overload(multiply_rows, jit_options=_OPTIONS, strict=False)
def _multiply_rows(count: Any, rows: Any, weight: Any, target: Any) -> Any:
    if _in_bytes(weight):
        return lambda count, rows, weight, target: _multiply_bytes(count, rows, weight, target)
    return lambda count, rows, weight, target: multiply(count, rows, weight, target)


@overload(multiply_rows_from, jit_options=_OPTIONS, strict=False)
def _multiply_rows_from(count: Any, rows: Any, weight: Any, begin: Any, out: Any) -> Any:
    if _in_bytes(weight):
        return lambda count, rows, weight, begin, out: _multiply_bytes_from(count, rows, weight, begin, out)
    return lambda count, rows, weight, begin, out: multiply_from(count, rows, weight, begin, out)


@part
def _byte_tiles(
    count: int, rows: ByteRows, weight: ByteWeight, panel: int, begin: Window, target: Target
) -> None:
    values, scales = rows
    _, panels, columns, starts = weight
    start, start_place, start_step, start_column = begin
    out, place, step, column, add = target
    i = 0
    while i + FIRST <= count:
        first_byte_tile(values, scales, i, panels, columns, starts, panel,
                        start, start_place + i * start_step, start_step, start_column, add,
                        out, place + i * step, step, column)  # fmt: skip
        i += FIRST
    while i + SECOND <= count:
        second_byte_tile(values, scales, i, panels, columns, starts, panel,
                         start, start_place + i * start_step, start_step, start_column, add,
                         out, place + i * step, step, column)  # fmt: skip
        i += SECOND
    while i + THIRD <= count:
        third_byte_tile(values, scales, i, panels, columns, starts, panel,
                        start, start_place + i * start_step, start_step, start_column, add,
                        out, place + i * step, step, column)  # fmt: skip
        i += THIRD
    if i < count:
        fourth_byte_tile(values, scales, i, panels, columns, starts, panel,
                         start, start_place + i * start_step, start_step, start_column, add,
                         out, place + i * step, step, column)  # fmt: skip


@part
def _multiply_bytes(count: int, rows: ByteRows, weight: ByteWeight, target: Target) -> None:
    out, out_place, out_step, out_column, add = target
    for panel in range(len(weight.values)):
        low = out_column + panel * WIDTH
        if low + WIDTH <= out.shape[1]:
            begin = Window(out, out_place, out_step, low)
            _byte_tiles(count, rows, weight, panel, begin, Target(out, out_place, out_step, low, add))
        else:
            part = np.empty((count, WIDTH), out.dtype)
            _byte_tiles(count, rows, weight, panel, Window(part, 0, 1, 0), Target(part, 0, 1, 0, False))
            for i in range(count):
                for j in range(out.shape[1] - low):
                    before = out[out_place + i * out_step, low + j] if add else out.dtype.type(0)
                    out[out_place + i * out_step, low + j] = before + part[i, j]


@part
def _multiply_bytes_from(count: int, rows: ByteRows, weight: ByteWeight, begin: Window, out: Window) -> None:
    for panel in range(len(weight.values)):
        more = panel * WIDTH
        _byte_tiles(count, rows, weight, panel, Window(begin.array, begin.row, begin.step, begin.column + more),
                    Target(out.array, out.row, out.step, out.column + more, True))  # fmt: skip
