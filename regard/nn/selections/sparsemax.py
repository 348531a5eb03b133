"""One position or a few: sparsemax, a sparse softmax (Martins and Astudillo 2016).

    α = argmin_p ‖p − e‖²  over distributions p,   that is  α_s = max(e_s − τ, 0)  with τ such that Σ_s α_s = 1

Scores far below the best get exactly zero. With the scores sorted, e_(1) ≥ e_(2) ≥ …, the support is the
first k, where k is the largest number with 1 + k e_(k) > Σ_{j≤k} e_(j), and τ = (Σ_{j≤k} e_(j) − 1) / k. On
the support the gradient is g − mean(g), elsewhere zero.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection, by_query
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("selection", "sparsemax")
class Sparsemax(Selection):
    """The distribution nearest to the scores, with exact zeros."""

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        what = f"max({look.energy} − τ, 0), τ such that the sum is 1"
        return [f"{look.weights} = sparsemax_{look.below}({look.energy})     — {what}"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        return sparsemax(scores, by_query(mask))


def sparsemax(scores: Tensor, mask: Tensor) -> Tensor:
    """Over the last dimension, where the mask is True; all zero if it is nowhere True."""
    mask = mask.expand_as(scores)
    with torch.no_grad():
        ordered = scores.masked_fill(~mask, -torch.inf).sort(-1, descending=True).values
        sums = ordered.cumsum(-1)
        ranks = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
        size = ((1 + ranks * ordered) > sums).sum(-1, keepdim=True).clamp(min=1)  # (…, 1)
        threshold = (sums.gather(-1, size - 1) - 1) / size
        support = (scores > threshold) & mask
    count = support.sum(-1, keepdim=True).clamp(min=1)
    # τ as a function of the scores of the support, so that the gradient is exact
    tau = (torch.where(support, scores, 0.0).sum(-1, keepdim=True) - 1) / count
    # a score of NaN or +inf is above no threshold: it would leave no weight at all
    elsewhere = torch.where(ordered[..., :1] < torch.inf, 0.0, torch.nan)
    return torch.where(support, scores - tau, elsewhere.to(scores.dtype))
