# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Weighted sums of many short attentions, c[b, t] = Σ_s w[b, t, s] v[b, s], and their gradients.

Products of many small matrices whose sides are not multiples of 8 are slow in half precision. Here the small
sizes T and S are held in registers, and only the features are split into blocks.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

FEATURES = 256


def read(weights: Tensor, values: Tensor) -> Tensor:
    """weights (B, T, S), values (B, S, D) → (B, T, D) in the precision of the values."""
    found: Tensor = _Read.apply(weights, values)
    return found


class _Read(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, values: Tensor) -> Tensor:
        ctx.save_for_backward(weights, values)
        weights, values = weights.contiguous(), values.contiguous()
        (rows, count, positions), size = weights.shape, values.shape[2]
        found = values.new_empty(rows, count, size)
        with on_device_of(values):
            grid = (rows, triton.cdiv(size, FEATURES))
            # w[t, s] is at t·S + s
            _mix[grid](
                weights, values, found, size, count, positions, positions, 1, N=_wide(count), BLOCK=FEATURES
            )
        return found

    @staticmethod
    def backward(ctx: Any, d_found: Tensor) -> Any:
        weights, values = ctx.saved_tensors
        if torch.is_grad_enabled():
            return d_found.to(weights.dtype) @ values.to(weights.dtype).transpose(1, 2), (
                weights.transpose(1, 2).to(values.dtype) @ d_found
            )
        weights, values, d_found = weights.contiguous(), values.contiguous(), d_found.contiguous()
        (rows, count, positions), size = weights.shape, values.shape[2]
        d_weights, d_values = torch.empty_like(weights), torch.empty_like(values)
        with on_device_of(values):
            grid = (rows, triton.cdiv(size, FEATURES))
            _mix[grid](
                weights, d_found, d_values, size, positions, count, 1, positions, N=_wide(positions), BLOCK=FEATURES
            )  # fmt: skip
            _compare[(rows, count)](
                d_found, values, d_weights, size, positions, N=_wide(positions), BLOCK=FEATURES
            )
        return d_weights, d_values


def _wide(count: int) -> int:
    return power_of_two(count, 1)


@triton.jit(do_not_specialize=["size", "count", "others", "own", "other"])
def _mix(weights, values, found, size, count, others, own, other, N: tl.constexpr, BLOCK: tl.constexpr):
    """found[n] = Σ_m w(n, m) values[m] of one sequence, for n < count and m < others; w(n, m) is at n·own + m·other."""
    row = tl.program_id(0).to(tl.int64)
    n, column = tl.arange(0, N), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    known, here = n < count, column < size
    weights += row * count * others
    values += row * others * size
    total = tl.zeros((N, BLOCK), tl.float32)
    for m in range(others):
        w = tl.load(weights + n * own + m * other, mask=known, other=0.0).to(tl.float32)
        v = tl.load(values + m * size + column, mask=here, other=0.0).to(tl.float32)
        total += w[:, None] * v[None, :]
    place = (row * count + n)[:, None] * size + column[None, :]
    tl.store(found + place, total, mask=known[:, None] & here[None, :])


@triton.jit(do_not_specialize=["size", "positions"])
def _compare(d_found, values, d_weights, size, positions, N: tl.constexpr, BLOCK: tl.constexpr):
    """dw[t, s] = dc[t] · v[s] of one query."""
    row, look = tl.program_id(0).to(tl.int64), tl.program_id(1)
    n = tl.arange(0, N)
    known = n < positions
    looked = row * tl.num_programs(1) + look
    values += row * positions * size
    total = tl.zeros((N, BLOCK), tl.float32)
    for first in range(0, size, BLOCK):
        column = first + tl.arange(0, BLOCK)
        here = column < size
        d = tl.load(d_found + looked * size + column, mask=here, other=0.0).to(tl.float32)
        place = n[:, None] * size + column[None, :]
        v = tl.load(values + place, mask=known[:, None] & here[None, :], other=0.0).to(tl.float32)
        total += d[None, :] * v
    tl.store(d_weights + looked * positions + n, tl.sum(total, 1), mask=known)
