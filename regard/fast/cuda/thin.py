# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Products of few rows, as in every step of a recurrence: a batch of states times the weights of all gates.

Such a product has few tiles, so a library leaves most of the device idle. Here tiles are narrow, and a long sum
is split: each program sums a part and writes it down, and the program that ends last adds the parts, always in
the same order. Single precision is three tf32 products, as in `product`.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

MOST_ROWS = 256
COUNTERS = 8192
"""Tiles of one product at most, over all directions."""
PROCESSORS = 132
"""Multiprocessors of the device the tiles are chosen for."""


@triton.jit
def thin_kernel(left, right, out, parts, counters, M, N, K, left_d, left_m, left_k, right_d, right_k, right_n, out_d,
                out_m, ADD: tl.constexpr, PRECISION: tl.constexpr, SPLIT: tl.constexpr,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):  # fmt: skip
    """out[d] (M, N) = left[d] (M, K) right[d] (K, N), added to `out` (ADD), each sum in SPLIT parts.
    K is a multiple of SPLIT · BLOCK_K.
    """
    wide = tl.cdiv(N, BLOCK_N)
    tile, part, d = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m = tile // wide * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tile % wide * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    each = K // SPLIT
    begin = part * each
    left += d.to(tl.int64) * left_d + (m % M)[:, None] * left_m + (begin + k)[None, :] * left_k
    right += d.to(tl.int64) * right_d + (begin + k)[:, None] * right_k + (n % N)[None, :] * right_n
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for _ in range(0, each, BLOCK_K):
        total = tl.dot(tl.load(left), tl.load(right), total, input_precision=PRECISION)
        left += BLOCK_K * left_k
        right += BLOCK_K * right_k
    there = (m < M)[:, None] & (n < N)[None, :]
    out += d.to(tl.int64) * out_d + m[:, None] * out_m + n[None, :]
    if SPLIT == 1:
        if ADD:
            total += tl.load(out, mask=there, other=0.0)
        tl.store(out, total, mask=there)
    else:
        place = d * tl.num_programs(0) + tile
        inside = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        parts += place.to(tl.int64) * (SPLIT * BLOCK_M * BLOCK_N) + inside
        tl.store(parts + part * (BLOCK_M * BLOCK_N), total, cache_modifier=".cg")
        tl.debug_barrier()  # all threads have written their share before it is counted
        if tl.atomic_add(counters + place, 1, sem="acq_rel") == SPLIT - 1:
            total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
            for one in tl.static_range(SPLIT):
                total += tl.load(parts + one * (BLOCK_M * BLOCK_N), cache_modifier=".cg")
            if ADD:
                total += tl.load(out, mask=there, other=0.0)
            tl.store(out, total, mask=there)
            tl.store(counters + place, 0)


@cache
def has_tensor_cores(device: torch.device) -> bool:
    """Whether the device has tensor cores for tf32."""
    return torch.cuda.get_device_capability(device) >= (8, 0)


class Tile(NamedTuple):
    """Rows, columns and terms of a tile, the parts of its sum, and the warps of a program."""

    rows: int
    columns: int
    terms: int
    parts: int
    warps: int


def tile_of(
    directions: int, rows: int, inner: int, columns: int, *, turned: bool, single: bool
) -> Tile | None:
    """The tile for products (M, K) · (K, N), or None if torch's are faster or the kernel does not take them.

    turned  the right factor's columns are contiguous in memory, as those of `weight.t()` are
    single  in single precision instead of tf32

    The rules come from times on an H200 of 64 and 256 rows, 256 to 3,072 terms and columns.
    """
    if not 32 <= rows <= MOST_ROWS or columns > 4096 or columns % 32 or not 256 <= inner <= 4096:
        return None
    few = rows <= 96
    if turned:
        found = _wide_tile(directions, rows, inner, columns, single=single)
    elif single:
        parts = 8 if inner >= 1024 else 4
        found = Tile(16, 32, 32, parts, 2) if few else Tile(32, 64, 32, 4, 4)
    elif few:
        tiles = directions * -(-rows // 32) * (columns // 32)
        found = Tile(32, 32, 64, _parts(tiles, inner, 128), 4)
    else:
        if rows * inner > 256 * 2048:
            return None
        found = Tile(32, 32, 64, 2 if inner >= 1024 else 1, 2)
    tiles = directions * -(-rows // found.rows) * -(-columns // found.columns)
    return None if inner % (found.terms * found.parts) or tiles > COUNTERS else found


def _wide_tile(directions: int, rows: int, inner: int, columns: int, *, single: bool) -> Tile:
    """Tiles of 64 rows, as narrow as leaves one for each multiprocessor."""
    high = directions * -(-rows // 64)

    def tiles(width: int) -> int:
        return high * -(-columns // width)

    if single:
        width = 16 if rows <= 96 and (inner <= 256 or tiles(32) < 32) else 32
    else:
        width = next((one for one in (16, 32) if tiles(one) <= PROCESSORS), 64)
    terms = 32 if tiles(width) > (2 * PROCESSORS if single else PROCESSORS) else 64
    return Tile(64, width, terms, _parts(tiles(width), inner, 128 if single else 256), 4)


def _parts(tiles: int, inner: int, least: int) -> int:
    """Parts of a sum, at least `least` terms each, as long as all programs run at once."""
    return next((one for one in (8, 4, 2) if tiles * one <= PROCESSORS and inner // one >= least), 1)


_COUNTERS: dict[torch.device, Tensor] = {}


def _counters(device: torch.device) -> Tensor | None:
    """Zeros that every launch leaves as zeros; None while a graph is captured before they exist."""
    if device not in _COUNTERS:
        if torch.cuda.is_current_stream_capturing():
            return None
        _COUNTERS[device] = torch.zeros(COUNTERS, dtype=torch.int32, device=device)
    return _COUNTERS[device]


def multiplied(left: Tensor, right: Tensor, out: Tensor, *, add: bool) -> bool:
    """out[d] (M, N) = left[d] (M, K) · right[d] (K, N), added to `out` with `add`; False if nothing was done, because
    torch's product is the better one here. Only one stream at a time may compute such products."""
    if not (out.is_cuda and left.dtype == right.dtype == out.dtype == torch.float32 and out.stride(2) == 1):
        return False
    if torch.is_autocast_enabled("cuda") or not has_tensor_cores(out.device):
        return False
    (directions, rows, inner), columns = left.shape, right.shape[2]
    single = torch.get_float32_matmul_precision() == "highest"
    tile = tile_of(directions, rows, inner, columns, turned=right.stride(1) == 1, single=single)
    counters = None if tile is None else _counters(out.device)
    if tile is None or counters is None:
        return False
    grid = (-(-rows // tile.rows) * -(-columns // tile.columns), tile.parts, directions)
    numbers = grid[0] * tile.parts * directions * tile.rows * tile.columns
    parts = out if tile.parts == 1 else out.new_empty(numbers)
    thin_kernel[grid](
        left, right, out, parts, counters, rows, columns, inner, *left.stride(), *right.stride(), out.stride(0),
        out.stride(1), ADD=add, PRECISION="tf32x3" if single else "tf32", SPLIT=tile.parts,
        BLOCK_M=tile.rows, BLOCK_N=tile.columns, BLOCK_K=tile.terms, num_warps=tile.warps, num_stages=4,
    )  # fmt: skip
    return True
