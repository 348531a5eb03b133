"""The dot product of two small networks (Chan et al. 2015, Listen, Attend and Spell)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.letters import Letters, linear
from regard.nn.products import pair_products
from regard.nn.scores.score import AttentionScore
from regard.nn.symbols import LookSymbols
from regard.parts import Size, register


@register("score", "perceptron")
class Perceptron(AttentionScore):
    """φ(q) · ψ(h), φ(q) = tanh(U q + b) and ψ(h) = tanh(W h + d), with `size` features each."""

    class Options(AttentionScore.Options):
        """tanh(U q + b) · tanh(W h + d)."""

        size: Size | None = None
        """Features of the two networks; default: the size of the query."""

    def __init__(self, query_size: int, key_size: int, size: int | None = None) -> None:
        super().__init__(query_size, key_size)
        self.size = query_size if size is None else size
        self.query, self.key = nn.Linear(query_size, self.size), nn.Linear(key_size, self.size)

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"tanh(U_{mark} {query} + c_{mark})·tanh(W_{mark} {key} + d_{mark})"

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        mark = look.mark
        return linear("query", f"U_{mark}", f"c_{mark}") | linear("key", f"W_{mark}", f"d_{mark}")

    def keys(self, keys: Tensor) -> Tensor:
        return torch.tanh(self.key(keys))

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return pair_products(torch.tanh(self.query(query)), keys)
