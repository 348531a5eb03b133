"""A composer: every feature of a node is the larger one of its children."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import regard
from regard.nn.letters import Letters, linear


@regard.register("composer", "larger")
class LargerComposer(regard.nn.Composer):
    """p = max(W l + b, W r + b)."""

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.word, self.node = nn.Linear(input_size, size), nn.Linear(size, size)

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        return ["leaf_x(x) = W_x x + b_x", "node_x(l, r) = max(W_p l + b_p, W_p r + b_p)"]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("word", "W_x", "b_x") | linear("node", "W_p", "b_p")

    def leaf(self, vectors: Tensor) -> Tensor:
        return self.word(vectors)

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.maximum(self.node(left), self.node(right))
