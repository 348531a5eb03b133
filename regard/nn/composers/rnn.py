"""The recursive network: one layer over both children."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.composers.composer import Composer
from regard.nn.letters import Letters, linear
from regard.parts import register


@register("composer", "rnn")
class RNNComposer(Composer):
    """p = tanh(W [l; r] + b), and tanh(W x + b) of a word (Goller and Küchler 1996; Socher et al. 2011).

    Socher et al. use the vector of a word itself. Here it goes through its own layer, so that embeddings may
    have another size.
    """

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        return [
            "leaf_x(x) = tanh(W_x x + b_x)",
            "node_x(l, r) = tanh(W_p [l; r] + b_p)",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("word", "W_x", "b_x") | linear("node", "W_p", "b_p")

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.word = nn.Linear(input_size, size)
        self.node = nn.Linear(2 * size, size)

    def leaf(self, vectors: Tensor) -> Tensor:
        return torch.tanh(self.word(vectors))

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        return torch.tanh(self.node(torch.cat([left, right], -1)))
