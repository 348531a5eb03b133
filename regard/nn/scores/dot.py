"""The dot product (Luong et al. 2015)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.nn.products import pair_products
from regard.nn.scores.score import AttentionScore
from regard.parts import register


@register("score", "dot")
class Dot(AttentionScore):
    """q · h; query and key must have the same size."""

    one_size = True
    scale = 1.0

    def __init__(self, query_size: int, key_size: int) -> None:
        super().__init__(query_size, key_size)
        if query_size != key_size:
            raise RegardError(
                f"A dot score needs queries and keys of one size; the query has {query_size}, the key {key_size}.",
                fix="Choose score general or additive, or make the decoder's size equal to the memory's.",
            )

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"{query}·{key}"

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return pair_products(query * self.scale, keys)
