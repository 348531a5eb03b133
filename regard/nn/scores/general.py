"""The general score: a dot product after a matrix (Luong et al. 2015)."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from regard.nn.letters import Letters
from regard.nn.scores.score import AttentionScore
from regard.nn.symbols import LookSymbols
from regard.parts import register


@register("score", "general")
class General(AttentionScore):
    """q · W h."""

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        self.key = nn.Linear(key_size, query_size, bias=False)

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"{query}·W_{mark} {key}"

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        return {"key.weight": f"W_{look.mark}"}

    def keys(self, keys: Tensor) -> Tensor:
        projected: Tensor = self.key(keys)
        return projected

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return query @ keys.transpose(1, 2)
