"""The leaves of Tree-LSTMs, which both kinds share."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from regard.nn.composers.composer import Composer
from regard.nn.letters import Letters, linear


class TreeLSTMComposer(Composer):
    """A leaf has no children: m = i ⊙ u of its word, h = o ⊙ tanh(m)."""

    carries = True
    leaf_equations: ClassVar[tuple[str, ...]] = (
        "leaf_x(x) = (o ⊙ tanh(v), v)",
        "    v = σ(W_ix x + b_ix) ⊙ tanh(W_ux x + b_ux)",
        "    o = σ(W_ox x + b_ox)",
    )

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("word", ("W_ix", "W_ux", "W_ox"), ("b_ix", "b_ux", "b_ox"))

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.word = nn.Linear(input_size, 3 * size)  # i, u, o

    def leaf(self, vectors: Tensor) -> Tensor:
        i, u, o = self.word(vectors).chunk(3, -1)
        memory = torch.sigmoid(i) * torch.tanh(u)
        return torch.cat([torch.sigmoid(o) * torch.tanh(memory), memory], -1)
