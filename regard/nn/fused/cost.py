"""Cross-entropy of many words over a large vocabulary, and its gradient in the same pass.

The logits of a few hundred words at a time are computed, turned into their own gradient while they are in the cache,
and spent on the gradients of the words and of the weights; they are never kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import prange
from torch import Tensor

from regard.nn.fused.mathematics import exponential
from regard.structures.kernels.cpu.compilation import compiled

Array = Any
CHUNK = 448
"""Words at a time: 448 rows of 4,000 logits are 7 MB."""


def _gradient(logits: Array, bias: Array, targets: Array, smoothing: float, costs: Array, likelihoods: Array) -> None:
    """logits (n, V), without their bias, become d cost / d logits; costs and −log p(target) are (n)."""
    rows, vocabulary = logits.shape
    share = logits.dtype.type(smoothing / vocabulary)
    kept = logits.dtype.type(1 - smoothing)
    for i in prange(rows):
        highest = logits.dtype.type(-np.inf)
        summed = logits.dtype.type(0)
        for j in range(vocabulary):
            value = logits[i, j] + bias[j]
            logits[i, j] = value
            summed += value
            highest = max(highest, value)
        aim = logits[i, targets[i]]
        total = logits.dtype.type(0)
        for j in range(vocabulary):
            value = exponential(logits[i, j] - highest)
            logits[i, j] = value
            total += value
        normaliser = highest + np.log(total)
        likelihoods[i] = normaliser - aim
        costs[i] = kept * likelihoods[i] + share * (vocabulary * normaliser - summed)
        scale = 1 / total
        for j in range(vocabulary):
            logits[i, j] = logits[i, j] * scale - share
        logits[i, targets[i]] -= kept


# −inf would be undefined under the promise of finite numbers; everything else may be reordered.
gradient_in_place = compiled(
    _gradient, parallel=True, nogil=True, fastmath={"contract", "reassoc", "nsz", "arcp", "nnan"}
)


class PackedCost(torch.autograd.Function):
    """rows (N, O), weight (V, O), bias (V), targets (N), smoothing → Σ cost, Σ −log p(target)."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        count, vocabulary = len(rows), len(weight)
        transposed = weight.t().contiguous()
        logits = rows.new_empty(min(CHUNK, count), vocabulary)
        costs, likelihoods = rows.new_empty(count), rows.new_empty(count)
        d_rows, d_weight, d_bias = torch.empty_like(rows), torch.zeros_like(weight), torch.zeros_like(bias)
        for low in range(0, count, CHUNK):
            high = min(low + CHUNK, count)
            part = logits[: high - low]
            torch.mm(rows[low:high], transposed, out=part)
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
