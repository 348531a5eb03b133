"""Guided attention: a loss between where a model looks and where it should."""

from __future__ import annotations

import torch
from torch import Tensor


def guide_total(truth: Tensor, weights: Tensor) -> Tensor:
    """−Σ_t Σ_s truth · log weights, with 0 · log 0 = 0."""
    wanted = truth > 0
    tiny = torch.finfo(weights.dtype).tiny
    logarithms = torch.log(torch.where(wanted, weights, torch.ones_like(weights)).clamp(min=tiny))
    return -(truth * logarithms).sum()


def guide_loss(truth: Tensor, weights: Tensor) -> Tensor:
    """The cross-entropy of the selection against the true alignment, mean over the aligned target words.

    truth     (…, T, S) each row sums to one, or to zero where a target word is unaligned
    weights   (…, T, S) the selection's weights
    """
    aligned = (truth.sum(-1) > 0).sum().clamp(min=1)
    return guide_total(truth, weights) / aligned
