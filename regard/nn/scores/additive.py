"""The additive score (Bahdanau et al. 2015)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.letters import Letters, linear
from regard.nn.path import faster
from regard.nn.scores.score import AttentionScore
from regard.nn.symbols import LookSymbols
from regard.parts import Size, register


@register("score", "additive")
class Additive(AttentionScore):
    """v · tanh(U q + W h), + d inside the tanh with `bias`;
    `size` is the number of features of the comparison."""

    class Options(AttentionScore.Options):
        """v · tanh(U q + W h)."""

        size: Size | None = None
        """Features in which query and key are compared; default: the size of the query."""
        bias: bool = False
        """Add a vector d inside the tanh (Chorowski 2015, See 2017); Bahdanau 2015 has none."""

    def __init__(
        self, query_size: int, key_size: int, size: int | None = None, *, bias: bool = False
    ) -> None:
        super().__init__(query_size, key_size)
        self.size = query_size if size is None else size
        self.query = nn.Linear(query_size, self.size, bias=False)
        self.key = nn.Linear(key_size, self.size, bias=bias)  # projected once for all queries
        self.vector = nn.Parameter(torch.empty(self.size).uniform_(-1, 1) / math.sqrt(self.size))

    @classmethod
    def equation(cls, options: Any, query: str, key: str, mark: str) -> str:
        return f"v_{mark}·tanh({cls.compared(options, query, key, mark)})"

    @classmethod
    def compared(cls, options: Any, query: str, key: str, mark: str) -> str:
        """The argument of the tanh."""
        return f"U_{mark} {query} + W_{mark} {key}" + (f" + d_{mark}" if options.bias else "")

    @classmethod
    def letters(cls, options: Any, look: LookSymbols) -> Letters:
        mark = look.mark
        found = linear("key", f"W_{mark}", f"d_{mark}")
        return found | {"query.weight": f"U_{mark}", "vector": f"v_{mark}"}

    def keys(self, keys: Tensor) -> Tensor:
        projected: Tensor = self.key(keys)
        return projected

    def forward(self, query: Tensor, keys: Tensor, previous: Tensor | None = None) -> Tensor:
        found: Tensor | None = faster("score.additive", query.device, self, query, keys)
        if found is not None:
            return found
        energies = torch.tanh(self.query(query).unsqueeze(2) + keys.unsqueeze(1))  # (B, T, S, A)
        return energies @ self.vector
