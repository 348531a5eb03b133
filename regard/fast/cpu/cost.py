# mypy: disable-error-code="call-arg"
"""Cross-entropy of many words over a large vocabulary, and its gradient in the same pass.

The logits of a few words at a time are computed, replaced by their gradient and multiplied into the gradient
of the words while they are in cache. The logit gradients of a few hundred words or more are multiplied into
the gradient of the weights and then overwritten.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from regard.fast.cpu.layout import panels, room
from regard.fast.cpu.product import Target, Window, multiply
from regard.fast.cpu.tile import WIDTH
from regard.structures.kernels.availability import once
from regard.structures.kernels.cpu.compilation import kernel, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import larger
from regard.structures.kernels.cpu.parallel import shares, side_by_side

Array = Any
NEAR = 64
"""Words whose logits are computed at a time: 64 rows of 4,000 are a megabyte."""
DEPTH = 256
"""Vocabulary entries per block of the backward product: a panel of 256 rows is 16 kilobytes."""


@reduction
def _shift(logits: Array, bias: Array) -> Any:
    """Add the bias; return the maximum and the sum of the logits."""
    highest, summed = logits[0] + bias[0], logits.dtype.type(0)
    for j in range(len(bias)):
        value = logits[j] + bias[j]
        logits[j] = value
        summed += value
        highest = larger(highest, value)
    return highest, summed


@reduction
def _grow(logits: Array, highest: Any) -> Any:
    """Replace the logits by exp(logit − highest); return their sum."""
    total = logits.dtype.type(0)
    for j in range(len(logits)):
        value = exponential(logits[j] - highest)
        logits[j] = value
        total += value
    return total


@reduction
def _scale(logits: Array, scale: Any, share: Any, d_bias: Array) -> None:
    for j in range(len(logits)):
        value = logits[j] * scale - share
        logits[j] = value
        d_bias[j] += value


@reduction
def _descend(logits: Array, bias: Array, target: int, smoothing: Any, d_bias: Array) -> Any:
    """logits (V), without their bias, become d cost / d logits; returns the cost and −log p(target)."""
    number = logits.dtype.type
    share, kept = number(smoothing / len(logits)), number(1 - smoothing)
    highest, summed = _shift(logits, bias)
    aim = logits[target]
    total = _grow(logits, highest)
    normaliser = highest + np.log(total)
    likelihood = normaliser - aim
    _scale(logits, number(1) / total, share, d_bias)
    logits[target] -= kept
    d_bias[target] -= kept
    cost = kept * likelihood
    if share != 0:  # else 0 · inf for a word with a bias of −inf
        cost += share * (number(len(logits)) * normaliser - summed)
    return cost, likelihood


@kernel
def _spend_rows(
    part: int, parts: int, rows: Array, weight: Array, back: Array, bias: Array, targets: Array,
    smoothing: float, logits: Array, d_rows: Array, d_bias: Array, costs: Array, likelihoods: Array,
) -> None:  # fmt: skip
    """rows (n, O), weight (P, O, W) in panels, back (V / DEPTH, P, DEPTH, W) in blocks of panels → the
    gradient of the logits (n, V), padded to a multiple of DEPTH; d_rows (n, O); costs and −log p(target) (n).
    Adds to d_bias (parts, V)."""
    vocabulary = len(bias)
    first, end = part * len(rows) // parts, (part + 1) * len(rows) // parts
    for low in range(first, end, NEAR):
        count = min(NEAR, end - low)
        multiply(count, Window(rows, low, 1, 0), weight, Target(logits, low, 1, 0, False))
        for i in range(low, low + count):
            costs[i], likelihoods[i] = _descend(
                logits[i, :vocabulary], bias, targets[i], smoothing, d_bias[part]
            )
        for block in range(len(back)):
            multiply(
                count,
                Window(logits, low, 1, block * DEPTH),
                back[block],
                Target(d_rows, low, 1, 0, block > 0),
            )


def _blocks(weight: Tensor) -> Array:
    """A weight (V, O), for products x ↦ Wᵀ x, in panels of DEPTH rows: (V / DEPTH, P, DEPTH, W), zeros at the end."""
    rows, size = weight.shape
    padded = torch.nn.functional.pad(weight.detach(), (0, -size % WIDTH, 0, -rows % DEPTH))
    return padded.view(len(padded) // DEPTH, DEPTH, -1, WIDTH).transpose(1, 2).contiguous().numpy()


class PackedCost(torch.autograd.Function):
    """rows (N, O), weight (V, O), bias (V), targets (N), smoothing → Σ cost, Σ −log p(target)."""

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        rows, (count, vocabulary) = rows.contiguous(), (len(rows), len(weight))
        chunk = max(1, min(count, max(256, 2**21 // vocabulary)))
        parts = shares(chunk)
        # One panel wider than needed, so that the rows do not all begin at the same place of the cache.
        logits = room(rows, chunk, vocabulary + -vocabulary % DEPTH + WIDTH)
        logits[:, vocabulary:] = 0
        costs, likelihoods = rows.new_empty(count), rows.new_empty(count)
        d_rows, d_weight = torch.empty_like(rows), room(weight, *weight.shape).zero_()
        d_bias = bias.new_zeros(parts, vocabulary)
        factors = panels(weight), _blocks(weight), bias.detach().contiguous().numpy()
        for low in range(0, count, chunk):
            part = slice(low, low + chunk)
            some = rows.detach()[part]
            side_by_side(
                _spend_rows,
                parts,
                some.numpy(),
                *factors,
                targets.numpy()[part],
                smoothing,
                logits.numpy(),
                d_rows.numpy()[part],
                d_bias.numpy(),
                costs.numpy()[part],
                likelihoods.numpy()[part],
            )
            d_weight.addmm_(logits[: len(some), :vocabulary].t(), some)
        ctx.save_for_backward(d_rows, d_weight, d_bias.sum(0))
        likelihood = likelihoods.sum()
        ctx.mark_non_differentiable(likelihood)
        return costs.sum(), likelihood

    @staticmethod
    @once
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        d_rows, d_weight, d_bias = ctx.saved_tensors
        scale = gradients[0]
        return d_rows * scale, d_weight * scale, d_bias * scale, None, None
