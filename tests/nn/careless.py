"""Torch's attention as it behaves on x86: NaN and infinite scores are lost, and what is read is finite."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor


def careless_attention(
    asked: Tensor,
    keys: Tensor,
    values: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **_: Any,
) -> Tensor:
    """`scaled_dot_product_attention` where a score that is no finite number counts as masked, and a row
    without any other score reads 0."""
    scores = asked @ keys.mT * asked.shape[-1] ** -0.5
    if is_causal:
        before = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~before, -math.inf)
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    scores = scores.masked_fill(~scores.isfinite(), -math.inf)
    weights = torch.softmax(scores, -1)
    return torch.where(scores.isfinite().any(-1, keepdim=True), weights, 0.0) @ values
