"""Guided attention: the cross-entropy between the true alignment and the attention weights."""

from __future__ import annotations

import torch
from torch import Tensor


def guide_total(truth: Tensor, weights: Tensor) -> Tensor:
    """−Σ_t Σ_s truth · log weights, with 0 · log 0 = 0."""
    wanted = truth > 0
    tiny = torch.finfo(weights.dtype).tiny
    logarithms = torch.log(torch.where(wanted, weights, torch.ones_like(weights)).clamp(min=tiny))
    return -(truth * logarithms).sum()
