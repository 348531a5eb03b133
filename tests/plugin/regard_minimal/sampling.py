"""A softmax of which one position is drawn in training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import regard
from regard.nn import Given, LookSymbols, masked_softmax


@regard.register("selection", "drawn")
class Drawn(regard.nn.Selection):
    """softmax(e); in training one position is drawn by its weight."""

    draws = True
    needs = frozenset({"costs"})

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return [f"{look.weights} = softmax_{look.below}({look.energy})     — in training one is drawn"]

    def forward(self, scores: Tensor, mask: Tensor, given: Given | None = None) -> Tensor:
        return masked_softmax(scores, mask if mask.ndim == 3 else mask.unsqueeze(1))

    def draw(self, weights: Tensor, rows: Tensor) -> Tensor:
        waits = torch.empty_like(weights).exponential_()
        first = (weights / waits).argmax(-1, keepdim=True)
        return torch.where(rows[:, None, None], torch.zeros_like(weights).scatter_(-1, first, 1.0), weights)
