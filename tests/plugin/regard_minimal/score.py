"""The cosine between query and key, times a learned gain."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import regard
from regard.nn.letters import Letters
from regard.parts import Size


@regard.register("score", "cosine")
class Cosine(regard.nn.AttentionScore):
    """g · cos(U q, W h)."""

    class Options(regard.nn.AttentionScore.Options):
        """g · cos(U q, W h)."""

        size: Size = 64
        """Features in which query and key are compared."""

    def __init__(self, query_size: int, key_size: int, size: int = 64) -> None:
        super().__init__(query_size, key_size)
        self.query = nn.Linear(query_size, size, bias=False)
        self.key = nn.Linear(key_size, size, bias=False)
        self.gain = nn.Parameter(torch.tensor(5.0))

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        query, key = f"(U_{mark} {query})", f"(W_{mark} {key})"
        return f"g_{mark} {query}·{key} / √({query}·{query}) / √({key}·{key})"

    @classmethod
    def letters(cls, options: Any, look: Any) -> Letters:
        mark = look.mark
        return {"query.weight": f"U_{mark}", "key.weight": f"W_{mark}", "gain": f"g_{mark}"}

    def keys(self, keys: Tensor) -> Tensor:
        return nn.functional.normalize(self.key(keys), dim=-1)

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        return self.gain * nn.functional.normalize(self.query(query), dim=-1) @ keys.transpose(1, 2)
