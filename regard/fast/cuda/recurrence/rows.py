# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Copies of rows to and from the layout of a sweep, in the target's precision, and sums over rows."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.structures.kernels.cuda.launching import power_of_two

WIDE = 1024
"""Maximum number of elements of a row per program."""
PARTS, COLUMNS = 32, 512
"""Parts into which the rows of a sum are split, and columns per program."""


def take(source: Tensor, index: Tensor, out: Tensor) -> None:
    """out[n] = Σ_d source[index[n, d]], with source (M, H), index (N·D) and out (N, H)."""
    if len(out):
        width = source.shape[1]
        grid = (len(out), triton.cdiv(width, WIDE))
        _take[grid](source, index, out, width, D=len(index) // len(out), BLOCK=_block(width))


def put(target: Tensor, index: Tensor, given: Tensor) -> None:
    """target[index[n]] = given[n], with target (M, H), index (N) and given (N, H)."""
    if len(given):
        width = target.shape[1]
        given = given.contiguous()
        grid = (len(given), triton.cdiv(width, WIDE))
        _put[grid](target, index, given, width, BLOCK=_block(width))


def sum_rows(of: Tensor, out: Tensor) -> None:
    """out[d] = Σ_n of[d, n], with `of` (D, N, W) contiguous in rows. The order of summation is fixed."""
    directions, count, width = of.shape
    parts = out.new_empty(directions, PARTS, width)
    grid = (triton.cdiv(width, COLUMNS), PARTS, directions)
    _sum_rows[grid](of, parts, count, of.stride(0), width, PARTS=PARTS, ROWS=16, BLOCK=COLUMNS, num_warps=8)
    torch.sum(parts, 1, out=out)


def _block(width: int) -> int:
    return power_of_two(min(WIDE, width), 16)


@triton.jit(do_not_specialize=["width"])
def _take(source, index, out, width, D: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = column < width
    found = tl.load(source + tl.load(index + row * D) * width + column, mask=here, other=0.0)
    if D > 1:
        if found.dtype == tl.bfloat16:
            found = found.to(tl.float32)
        for d in tl.static_range(1, D):
            found += tl.load(source + tl.load(index + row * D + d) * width + column, mask=here, other=0.0)
    tl.store(out + row * width + column, found, mask=here)


@triton.jit(do_not_specialize=["width"])
def _put(target, index, given, width, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    here = column < width
    found = tl.load(given + row * width + column, mask=here, other=0.0)
    tl.store(target + tl.load(index + row) * width + column, found, mask=here)


@triton.jit(do_not_specialize=["count", "apart", "width"])
def _sum_rows(of, out, count, apart, width, PARTS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part, direction = tl.program_id(1), tl.program_id(2).to(tl.int64)
    here = column < width
    total = tl.zeros((ROWS, BLOCK), dtype=out.dtype.element_ty)
    each = tl.cdiv(tl.cdiv(count, PARTS), ROWS) * ROWS
    for start in range(part * each, tl.minimum((part + 1) * each, count), ROWS):
        row = start + tl.arange(0, ROWS)
        place = direction * apart + row.to(tl.int64)[:, None] * width + column[None, :]
        total += tl.load(of + place, mask=(row < count)[:, None] & here[None, :], other=0.0)
    tl.store(out + (direction * PARTS + part) * width + column, tl.sum(total, 0), mask=here)
