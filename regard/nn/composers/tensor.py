"""The recursive neural tensor network: the features of both children are multiplied with each other."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.composers.composer import Composer
from regard.nn.letters import Letters, linear
from regard.parts import register


@register("composer", "tensor")
class TensorComposer(Composer):
    """p = tanh([l; r]ᵀ V [l; r] + W [l; r] + b), V of size × 2 size × 2 size (Socher et al. 2013).

    Feature d of the first term is [l; r]·V_d [l; r]. Words as in `rnn`. Cost per node: 4 · size³.
    """

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        return [
            "leaf_x(x) = tanh(W_x x + b_x)",
            "node_x(l, r) = tanh(z + W_p [l; r] + b_p)",
            f"    z = [pairs_1([l; r]); …; pairs_{size}([l; r])]",
            "pairs_δ(x) = x·V_δ x     — a weight for every pair of features of the children",
            f"δ = 1 … {size}",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("word", "W_x", "b_x") | linear("node", "W_p", "b_p") | {"tensor": "V_δ"}

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.word = nn.Linear(input_size, size)
        self.node = nn.Linear(2 * size, size)
        bound = 1 / (4 * size)
        self.tensor = nn.Parameter(torch.empty(size, 2 * size, 2 * size).uniform_(-bound, bound))

    def leaf(self, vectors: Tensor) -> Tensor:
        return torch.tanh(self.word(vectors))

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        both = torch.cat([left, right], -1)  # (…, 2D)
        seen = both @ self.tensor.flatten(0, 1).T  # (…, D · 2D)
        product = (seen.unflatten(-1, (self.size, -1)) @ both.unsqueeze(-1)).squeeze(-1)
        return torch.tanh(product + self.node(both))
