# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Products in single precision on the tensor cores.

Each factor is split into two tf32 numbers of 11 bits, x = x' + x'', and x y = x' y' + x' y'' + x'' y' is
summed in single precision: three products on the tensor cores. Together they are faster than torch's fp32
product, which does not use the tensor cores, and more accurate. The kernel is used where torch would compute
in fp32 (matmul precision "highest") and there are enough tiles for the whole device, torch's product
everywhere else.
"""

from __future__ import annotations

from typing import cast

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.fast.cuda import thin
from regard.fast.cuda.thin import has_tensor_cores

TILES = 96
"""Fewer tiles leave too much of the device idle."""
LONG = 1024
"""For longer sums a tile takes so long that each multiprocessor needs two: MANY tiles in total, of HIGH."""
MANY = 192
PARTS = 4
"""Most parts of a long sum, if there are few tiles. Separate programs sum them; the parts are added in order."""
GROUP = 8
"""Rows of tiles that are computed together, so that they share columns in the cache."""
BLOCK = 512


@triton.jit
def product_kernel(left, right, out, bias, M, N, K, left_m, left_k, right_k, right_n, out_m, ADD: tl.constexpr,
                   BIAS: tl.constexpr, GROUP: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr):  # fmt: skip
    """out (M, N) = left (M, K) right (K, N), added to `out` (ADD), with a row `bias` (BIAS).

    If the grid has a second axis, each of its programs sums a part of K and writes to a separate M · N
    result.
    """
    part = tl.cdiv(K, tl.num_programs(1) * BLOCK_K) * BLOCK_K
    begin = tl.program_id(1) * part
    out += tl.program_id(1).to(tl.int64) * M * N
    left += begin.to(tl.int64) * left_k
    right += begin.to(tl.int64) * right_k
    K = min(K - begin, part)
    place = tl.program_id(0)
    high, wide = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = place // (GROUP * wide) * GROUP
    rows = min(high - first, GROUP)
    m = (first + place % (GROUP * wide) % rows) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = place % (GROUP * wide) // rows * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    left += (m % M).to(tl.int64)[:, None] * left_m + k[None, :] * left_k
    right += k[:, None] * right_k + (n % N).to(tl.int64)[None, :] * right_n
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for low in range(0, K, BLOCK_K):
        x = tl.load(left, mask=(k < K - low)[None, :], other=0.0)
        y = tl.load(right, mask=(k < K - low)[:, None], other=0.0)
        total = tl.dot(x, y, total, input_precision="tf32x3")
        left += BLOCK_K * left_k
        right += BLOCK_K * right_k
    there = (m < M)[:, None] & (n < N)[None, :]
    out += m.to(tl.int64)[:, None] * out_m + n[None, :]
    if ADD:
        total += tl.load(out, mask=there, other=0.0)
    if BIAS:
        total += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    tl.store(out, total, mask=there)


@triton.jit
def add_kernel(parts, out, bias, SIZE, N, out_m, PARTS: tl.constexpr, ADD: tl.constexpr, BIAS: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """The sums of the parts (PARTS, M, N), in order."""
    row = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = n < N
    total = tl.zeros([BLOCK], tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(parts + part * SIZE + row * N + n, mask=there, other=0.0)
    if ADD:
        total += tl.load(out + row * out_m + n, mask=there, other=0.0)
    if BIAS:
        total += tl.load(bias + n, mask=there, other=0.0)
    tl.store(out + row * out_m + n, total, mask=there)


Tile = tuple[int, int, int]
"""Rows, columns, and terms of the sum at a time."""
HIGH = (256, 64, 32)


def chosen(rows: int, inner: int, columns: int) -> tuple[Tile, int] | None:
    """The tile for a product (M, K) · (K, N) and the parts of its sum; None if torch's product is faster."""
    if rows < 128 or columns % 16:
        return None
    if rows >= 512 and inner > LONG:
        count = _tiles(rows, columns, HIGH)
        parts = next(one for one in (1, 2, PARTS) if count * one >= MANY or one == PARTS)
        return (HIGH, parts) if count * parts >= TILES else None
    tile = (128, 64, 32) if rows >= 512 else (64, 64, 64)
    if _tiles(rows, columns, tile) >= (MANY if inner > LONG else TILES):
        return tile, 1
    narrow = (32, 64, 64)
    if rows <= 256 and 48 <= _tiles(rows, columns, narrow) <= 128:
        return narrow, PARTS if inner > LONG else 1
    return None


def _tiles(rows: int, columns: int, tile: Tile) -> int:
    return -(-rows // tile[0]) * -(-columns // tile[1])


def serves(left: Tensor, out: Tensor) -> bool:
    """Whether the kernel supports a product of these shapes, this dtype and device."""
    return (
        out.is_cuda
        and out.dtype == torch.float32
        and out.stride(1) == 1
        and torch.get_float32_matmul_precision() == "highest"
        and not torch.is_autocast_enabled("cuda")
        and has_tensor_cores(out.device)
        and chosen(left.shape[0], left.shape[1], out.shape[1]) is not None
    )


def multiply(
    left: Tensor, right: Tensor, out: Tensor, *, bias: Tensor | None = None, add: bool = False
) -> None:
    """out (M, N) = left (M, K) · right (K, N), added to `out` with `add`, plus `bias` (N) in every row."""
    assert bias is None or not add
    if bias is None and thin.multiplied(left[None], right[None], out[None], add=add):
        return
    if not serves(left, out):
        if bias is not None:
            torch.addmm(bias, left, right, out=out)
        elif add:
            out.addmm_(left, right)
        else:
            torch.mm(left, right, out=out)
        return
    (rows, inner), columns = left.shape, right.shape[1]
    tile, parts = cast("tuple[Tile, int]", chosen(rows, inner, columns))
    summed = out if parts == 1 else out.new_empty(parts, rows, columns)
    product_kernel[(_tiles(rows, columns, tile), parts)](
        left, right, summed, summed if bias is None else bias, rows, columns, inner, *left.stride(), *right.stride(),
        summed.stride(-2), ADD=add and parts == 1, BIAS=bias is not None and parts == 1, GROUP=GROUP,
        BLOCK_M=tile[0], BLOCK_N=tile[1], BLOCK_K=tile[2], num_warps=8 if tile == HIGH else 4, num_stages=3,
    )  # fmt: skip
    if parts > 1:
        add_kernel[(rows, -(-columns // BLOCK))](
            summed, out, out if bias is None else bias, rows * columns, columns, out.stride(0), PARTS=parts, ADD=add,
            BIAS=bias is not None, BLOCK=BLOCK, num_warps=4,
        )  # fmt: skip
