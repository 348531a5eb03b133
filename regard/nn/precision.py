"""Precision: what sums over many structures need."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_single(scores: Tensor) -> Tensor:
    """The scores in single precision where they came in half; single and double stay."""
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
