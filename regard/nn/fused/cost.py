"""Cross-entropy of many words over a large vocabulary, and its gradient in the same pass.

The logits of a few hundred words at a time are computed, turned into their own gradient while they are in the cache,
and spent on the gradients of the words and of the weights; they are never kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit, prange
from torch import Tensor

from regard.nn.fused.mathematics import exponential
from regard.structures.kernels.cpu.compilation import compiled

Array = Any
_fast = njit(fastmath=True, error_model="numpy", nogil=True)
CHUNK = 448
"""Words at a time: 448 rows of 4,000 logits are 7 MB."""


@_fast  # type: ignore[untyped-decorator]
def _shift(logits: Array, bias: Array) -> Any:
    """Adds the bias; the highest and the sum of the logits."""
    highest, summed = logits[0] + bias[0], logits.dtype.type(0)
    for j in range(len(logits)):
        value = logits[j] + bias[j]
        logits[j] = value
        summed += value
        highest = max(highest, value)
    return highest, summed


@_fast  # type: ignore[untyped-decorator]
def _grow(logits: Array, highest: Any) -> Any:
    """exp(logit − highest) in their place; their sum."""
    total = logits.dtype.type(0)
    for j in range(len(logits)):
        value = exponential(logits[j] - highest)
        logits[j] = value
        total += value
    return total


@_fast  # type: ignore[untyped-decorator]
def _scale(logits: Array, scale: Any, share: Any) -> None:
    for j in range(len(logits)):
        logits[j] = logits[j] * scale - share


def _gradient(
    logits: Array, bias: Array, targets: Array, smoothing: float, costs: Array, likelihoods: Array
) -> None:
    """logits (n, V), without their bias, become d cost / d logits; costs and −log p(target) are (n)."""
    rows, vocabulary = logits.shape
    number = logits.dtype.type
    share, kept = number(smoothing / vocabulary), number(1 - smoothing)
    for i in prange(rows):
        highest, summed = _shift(logits[i], bias)
        aim = logits[i, targets[i]]
        total = _grow(logits[i], highest)
        normaliser = highest + np.log(total)
        likelihoods[i] = normaliser - aim
        costs[i] = kept * likelihoods[i] + share * (number(vocabulary) * normaliser - summed)
        _scale(logits[i], number(1) / total, share)
        logits[i, targets[i]] -= kept


gradient_in_place = compiled(_gradient, parallel=True, fastmath=True, nogil=True, error_model="numpy")


class PackedCost(torch.autograd.Function):
    """rows (N, O), weight (V, O), bias (V), targets (N), smoothing → Σ cost, Σ −log p(target)."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        count, vocabulary = len(rows), len(weight)
        logits = rows.new_empty(min(CHUNK, count), vocabulary)
        costs, likelihoods = rows.new_empty(count), rows.new_empty(count)
        d_rows, d_weight, d_bias = torch.empty_like(rows), torch.zeros_like(weight), torch.zeros_like(bias)
        for low in range(0, count, CHUNK):
            high = min(low + CHUNK, count)
            part = logits[: high - low]
            torch.mm(rows[low:high], weight.t(), out=part)
            gradient_in_place(
                part.numpy(),
                bias.detach().numpy(),
                targets.numpy()[low:high],
                smoothing,
                costs.numpy()[low:high],
                likelihoods.numpy()[low:high],
            )
            torch.mm(part, weight, out=d_rows[low:high])
            d_weight.addmm_(part.t(), rows[low:high])
            d_bias += part.sum(0)
        ctx.save_for_backward(d_rows, d_weight, d_bias)
        likelihood = likelihoods.sum()
        ctx.mark_non_differentiable(likelihood)
        return costs.sum(), likelihood

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_rows, d_weight, d_bias = ctx.saved_tensors
        scale = gradients[0]
        return d_rows * scale, d_weight * scale, d_bias * scale, None, None
