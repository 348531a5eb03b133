"""The binary Tree-LSTM: a forget gate for each child."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.composers.treelstm import TreeLSTMComposer
from regard.nn.letters import Letters, linear
from regard.parts import register


@register("composer", "lstm")
class LSTMComposer(TreeLSTMComposer):
    """The binary Tree-LSTM of Tai, Socher, Manning (2015), equations 9 to 14 with N = 2, words at leaves
    only:

        i, f_l, f_r, o = σ(…),  u = tanh(…)  of [l; r]
        m = i ⊙ u + f_l ⊙ m_l + f_r ⊙ m_r,   h = o ⊙ tanh(m)

    A leaf has no children: m = i ⊙ u of its word. Each forget gate has its own bias, which starts at 1.
    """

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        return [
            *cls.leaf_equations,
            "node_x(l, m, r, n) = (o ⊙ tanh(v), v)",
            "    i = σ(W_ip [l; r] + b_ip)",
            "    f = σ(W_fp [l; r] + b_fp)     — the forget gate of the left child",
            "    g = σ(W_gp [l; r] + b_gp)     — the forget gate of the right child",
            "    o = σ(W_op [l; r] + b_op)",
            "    v = i ⊙ tanh(W_up [l; r] + b_up) + f ⊙ m + g ⊙ n",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        gates = "ifgou"
        node = linear("node", tuple(f"W_{one}p" for one in gates), tuple(f"b_{one}p" for one in gates))
        return super().letters(options) | node

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.node = nn.Linear(2 * size, 5 * size)  # i, f, g, o, u
        with torch.no_grad():
            self.node.bias[size : 3 * size] = 1.0

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        (h, m), (k, n) = left.chunk(2, -1), right.chunk(2, -1)
        projected = self.node(torch.cat([h, k], -1))
        i, f, g, o = torch.sigmoid(projected[..., : 4 * self.size]).chunk(4, -1)
        memory = i * torch.tanh(projected[..., 4 * self.size :]) + f * m + g * n
        return torch.cat([o * torch.tanh(memory), memory], -1)
