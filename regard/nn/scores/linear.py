"""The linear score."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.letters import Letters
from regard.nn.scores.score import AttentionScore
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("score", "linear")
class Linear(AttentionScore):
    """w · [q; h] = w_q · q + w_h · h."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        bound = 1 / math.sqrt(query_size + key_size)
        self.vector = nn.Parameter(torch.empty(query_size + key_size).uniform_(-bound, bound))

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"w_{mark}·[{query}; {key}]"

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        return {"vector": f"w_{look.mark}"}

    def keys(self, keys: Tensor) -> Tensor:
        return keys @ self.vector[self.query_size :, None]  # (B, S, 1)

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return query @ self.vector[: self.query_size, None] + keys.transpose(1, 2)
