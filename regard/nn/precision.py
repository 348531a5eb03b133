"""Precision: sums over many structures need at least single precision."""

from __future__ import annotations

import torch
from torch import Tensor


def at_least_single(scores: Tensor) -> Tensor:
    """Convert scores in half precision to single; leave single and double as they are."""
    return scores if scores.dtype in (torch.float32, torch.float64) else scores.float()
