# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""What a step of a Transformer decoder computes between its products, on CUDA, each in one launch.

Attention goes through the positions by blocks and keeps the highest energy and the sum of exponentials so far. A
program has one head of one hypothesis.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.fast.layer_weights import Normalization
from regard.structures.kernels.cuda.launching import on_device_of, power_of_two

POSITIONS = 32
"""Positions of a block."""
LOWEST: tl.constexpr = tl.constexpr(-3.4028234663852886e38)


@triton.jit(do_not_specialize=["place", "room", "wide", "far"])
def written_kernel(
    asked, bias, cache, slots, distance, out, scale, K, place, room, wide, far,
    D: tl.constexpr, W: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr, MOVED: tl.constexpr,
    NEAR: tl.constexpr):  # fmt: skip
    row, h = tl.program_id(0).to(tl.int64), tl.program_id(1)
    b, k = row // K, row % K
    lane = tl.arange(0, LANES)
    here, column = lane < W, h * W + lane
    asked += row * 3 * D + column
    bias += column
    query = tl.load(asked, mask=here, other=0.0) + tl.load(bias, mask=here, other=0.0)
    key = tl.load(asked + D, mask=here, other=0.0) + tl.load(bias + D, mask=here, other=0.0)
    value = tl.load(asked + 2 * D, mask=here, other=0.0) + tl.load(bias + 2 * D, mask=here, other=0.0)
    mine = cache + ((b * room + place) * wide + k) * 2 * D + column
    tl.store(mine, key, mask=here)
    tl.store(mine + D, value, mask=here)
    highest = tl.sum(query * key, 0) * scale
    if NEAR:
        highest += tl.load(distance + h * (far + 1))
    total = tl.full([], 1.0, tl.float32)
    read = value
    for first in range(0, place, BLOCK):
        s = first + tl.arange(0, BLOCK)
        known = s < place
        slot = tl.full([BLOCK], 0, tl.int64) + k
        if MOVED:
            slot = tl.load(slots + row * place + s, mask=known, other=0)
        at = cache + (((b * room + s) * wide + slot) * 2 * D)[:, None] + column[None, :]
        both = known[:, None] & here[None, :]
        energy = tl.sum(tl.load(at, mask=both, other=0.0) * query[None, :], 1) * scale
        if NEAR:
            energy += tl.load(distance + h * (far + 1) + tl.minimum(place - s, far), mask=known, other=0.0)
        energy = tl.where(known, energy, float("-inf"))
        higher = tl.maximum(highest, tl.max(energy, 0))
        weight = tl.exp(energy - higher)
        shrunk = tl.exp(highest - higher)
        total = total * shrunk + tl.sum(weight, 0)
        read = read * shrunk + tl.sum(weight[:, None] * tl.load(at + D, mask=both, other=0.0), 0)
        highest = higher
    tl.store(out + row * D + column, read / total, mask=here)


@triton.jit(do_not_specialize=["positions"])
def memory_kernel(
    asked, bias, memory, mask, out, looks, scale, K, H, positions,
    D: tl.constexpr, W: tl.constexpr, LANES: tl.constexpr, BLOCK: tl.constexpr, LOOKS: tl.constexpr):  # fmt: skip
    row, h = tl.program_id(0).to(tl.int64), tl.program_id(1)
    b = row // K
    lane = tl.arange(0, LANES)
    here, column = lane < W, h * W + lane
    query = tl.load(asked + row * D + column, mask=here, other=0.0) + tl.load(
        bias + column, mask=here, other=0.0
    )
    memory += b * positions * 2 * D
    highest = tl.full([], float("-inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    read = tl.zeros([LANES], tl.float32)
    looks += (row * H + h) * positions
    for first in range(0, positions, BLOCK):
        s = first + tl.arange(0, BLOCK)
        known = s < positions
        at = memory + (s * 2 * D)[:, None] + column[None, :]
        both = known[:, None] & here[None, :]
        energy = tl.sum(tl.load(at, mask=both, other=0.0) * query[None, :], 1) * scale
        energy = tl.where(tl.load(mask + b * positions + s, mask=known, other=0) != 0, energy, LOWEST)
        energy = tl.where(known, energy, float("-inf"))
        if LOOKS:
            tl.store(looks + s, energy, mask=known)
        higher = tl.maximum(highest, tl.max(energy, 0))
        weight = tl.exp(energy - higher)
        shrunk = tl.exp(highest - higher)
        total = total * shrunk + tl.sum(weight, 0)
        read = read * shrunk + tl.sum(weight[:, None] * tl.load(at + D, mask=both, other=0.0), 0)
        highest = higher
    tl.store(out + row * D + column, read / total, mask=here)


@triton.jit
def added_kernel(
    x, found, bias, gain, shift, new, out, epsilon, D: tl.constexpr, LANES: tl.constexpr, ADD: tl.constexpr,
    AFTER: tl.constexpr):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, LANES)
    here = j < D
    value = tl.load(x + row * D + j, mask=here, other=0.0)
    if ADD:
        value += tl.load(found + row * D + j, mask=here, other=0.0) + tl.load(bias + j, mask=here, other=0.0)
    mean = tl.sum(value, 0) / D
    apart = tl.where(here, value - mean, 0.0)
    factor = 1 / tl.sqrt(tl.sum(apart * apart, 0) / D + epsilon)
    normed = apart * factor * tl.load(gain + j, mask=here, other=0.0) + tl.load(
        shift + j, mask=here, other=0.0
    )
    tl.store(out + row * D + j, normed, mask=here)
    if ADD and not AFTER:
        tl.store(new + row * D + j, value, mask=here)


@triton.jit(do_not_specialize=["count"])
def rectified_kernel(hidden, bias, count, WIDTH, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    here = i < count
    value = tl.load(hidden + i, mask=here, other=0.0) + tl.load(bias + i % WIDTH, mask=here, other=0.0)
    tl.store(hidden + i, tl.where(value < 0, 0.0, value), mask=here)


class CUDAKernels:
    """What is computed between two products of a step; rows are (B K, …)."""

    def normed(self, x: Tensor, norm: Normalization) -> Tensor:
        return self._added(x, x, norm.gain, norm, add=False, after=False)[1]

    def added(
        self, x: Tensor, found: Tensor, bias: Tensor, norm: Normalization, after: bool
    ) -> tuple[Tensor, Tensor]:
        return self._added(x, found, bias, norm, add=True, after=after)

    def _added(
        self, x: Tensor, found: Tensor, bias: Tensor, norm: Normalization, *, add: bool, after: bool
    ) -> tuple[Tensor, Tensor]:
        out, new = torch.empty_like(x), torch.empty_like(x) if add and not after else x
        size = x.shape[1]
        with on_device_of(x):
            added_kernel[(len(x),)](
                x, found, bias, norm.gain, norm.shift, new, out, norm.epsilon,
                D=size, LANES=power_of_two(size, 16), ADD=add, AFTER=after,
            )  # fmt: skip
        return (out if after else new), out

    def written(
        self,
        asked: Tensor,
        bias: Tensor,
        cache: Tensor,
        slots: Tensor | None,
        place: int,
        distance: Tensor,
        heads: int,
    ) -> Tensor:
        rows, count, size = asked.shape[0], asked.shape[1], asked.shape[2] // 3
        width, far = size // heads, distance.shape[1] - 1
        out = asked.new_empty(rows * count, size)
        moved = slots is not None
        with on_device_of(asked):
            written_kernel[(rows * count, heads)](
                asked, bias, cache, cache if slots is None else slots.contiguous(), distance, out, width**-0.5,
                count, place, cache.shape[1], cache.shape[2], far,
                D=size, W=width, LANES=power_of_two(width, 16), BLOCK=POSITIONS, MOVED=moved, NEAR=far >= 0,
            )  # fmt: skip
        return out

    def memory(
        self, asked: Tensor, bias: Tensor, memory: Tensor, mask: Tensor, heads: int, looks: bool
    ) -> tuple[Tensor, Tensor | None]:
        (rows, count, size), positions = asked.shape, memory.shape[1]
        width, out = size // heads, asked.new_empty(rows * count, size)
        energies = asked.new_empty(rows, count, heads, positions) if looks else out
        with on_device_of(asked):
            memory_kernel[(rows * count, heads)](
                asked, bias, memory, mask.view(torch.int8), out, energies, width**-0.5, count, heads, positions,
                D=size, W=width, LANES=power_of_two(width, 16), BLOCK=POSITIONS, LOOKS=looks,
            )  # fmt: skip
        return out, torch.softmax(energies, -1).mean(2) if looks else None

    def rectified(self, hidden: Tensor, bias: Tensor) -> Tensor:
        with on_device_of(hidden):
            grid = (triton.cdiv(hidden.numel(), 1024),)
            rectified_kernel[grid](hidden, bias, hidden.numel(), hidden.shape[1], BLOCK=1024)
        return hidden


CUDA = CUDAKernels()
