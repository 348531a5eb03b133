# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Weights as bytes, for searches in int8: w ≈ s q with one scale for each output, |q| ≤ 127.

The rows that are multiplied by them become bytes too, each with a scale of its own, at every product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from regard.fast.cpu.byte_tile import TOGETHER
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.mathematics import larger

Array = Any
GREATEST = 127


class ByteWeight(NamedTuple):
    """A weight (M, K) in panels, see `byte_tile`; those of several layers have one more axis in front.

    depth    K
    values   (P, ⌈K / 4⌉, 4 · WIDTH) int8   scales (P, WIDTH)   starts (P, WIDTH) int32
    """

    depth: int
    values: Array
    scales: Array
    starts: Array


class ByteRows(NamedTuple):
    """Rows as bytes (n, 4 ⌈K / 4⌉), with 128 for 0, and their scales (n)."""

    values: Array
    scales: Array


def byte_panels(weight: Tensor) -> ByteWeight:
    """The weight (M, K) of x ↦ W x as bytes, padded with zeros."""
    weight = weight.detach().float()
    scales = weight.abs().amax(1) / GREATEST if weight.shape[1] else weight.new_zeros(len(weight))
    rounded = torch.round(weight / scales.clamp_min(torch.finfo(torch.float32).tiny)[:, None]).to(torch.int8)
    padded = torch.nn.functional.pad(rounded, (0, -weight.shape[1] % TOGETHER, 0, -len(weight) % WIDTH))
    scales = torch.nn.functional.pad(scales, (0, -len(weight) % WIDTH))
    count, groups = len(padded) // WIDTH, padded.shape[1] // TOGETHER
    apart = padded.reshape(count, WIDTH, groups, TOGETHER).transpose(1, 2)  # (P, K / 4, WIDTH, 4)
    starts = -128 * padded.to(torch.int32).sum(1, dtype=torch.int32)
    return ByteWeight(
        weight.shape[1],
        apart.reshape(count, groups, TOGETHER * WIDTH).contiguous().numpy().copy(),
        scales.view(count, WIDTH).numpy().copy(),
        starts.view(count, WIDTH).numpy().copy(),
    )


def stacked_bytes(weights: Tensor) -> ByteWeight:
    """The bytes of the weights (L, M, K) of all layers; L may be 0."""
    made = [byte_panels(weight) for weight in weights]
    if not made:
        nothing = byte_panels(weights.new_zeros(1, 1))
        return ByteWeight(1, *(one[None][:0] for one in nothing[1:]))
    return ByteWeight(
        made[0].depth, *(np.stack(each) for each in zip(*(one[1:] for one in made), strict=True))
    )


def without_panels(weight: Any) -> Any:
    """A weight of the same kind without rows."""
    return (
        ByteWeight(weight.depth, *(one[:0] for one in weight[1:]))
        if isinstance(weight, ByteWeight)
        else weight[:0]
    )


@reduction
def _largest(row: Array) -> Any:
    largest = row.dtype.type(0)
    for k in range(len(row)):
        largest = larger(largest, abs(row[k]))
    return largest


@reduction
def _round(row: Array, factor: Any, out: Array) -> None:
    half = row.dtype.type(128.5)
    for k in range(len(row)):
        out[k] = np.uint8(np.int32(row[k] * factor + half))


@part
def as_bytes(count: int, array: Array, row: int, step: int, column: int, depth: int, out: ByteRows) -> None:
    """Round the rows row, row + step, … of an array, `depth` numbers from a column on. A row with a number that is not
    finite gets a scale that is not, and so do its products."""
    for i in range(count):
        given = array[row + i * step, column : column + depth]
        largest = _largest(given)
        out.scales[i] = largest / np.float32(GREATEST)
        factor = np.float32(GREATEST) / largest if largest > 0 else np.float32(0)
        _round(given, factor, out.values[i])
        for k in range(depth, out.values.shape[1]):
            out.values[i, k] = 128
