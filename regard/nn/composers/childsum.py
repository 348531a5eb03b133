"""The child-sum Tree-LSTM: any number of children, in any order."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.composers.treelstm import TreeLSTMComposer
from regard.nn.letters import Letters, linear
from regard.parts import register


@register("composer", "child-sum")
class ChildSumComposer(TreeLSTMComposer):
    """The child-sum Tree-LSTM of Tai, Socher, Manning (2015), equations 2 to 8, words at leaves only:

        i, o = σ(…),  u = tanh(…)  of Σ_k h_k;   f_k = σ(W h_k + b) of each child
        m = i ⊙ u + Σ_k f_k ⊙ m_k,   h = o ⊙ tanh(m)

    The order of the children has no effect.
    """

    any_number = True

    @classmethod
    def equations(cls, options: Any, size: int) -> list[str]:
        return [
            *cls.leaf_equations,
            "node_x(l, m, r, n) = (o ⊙ tanh(v), v)",
            "    o = σ(W_op (l + r) + b_op)",
            "    i = σ(W_ip (l + r) + b_ip)",
            "    v = i ⊙ tanh(W_up (l + r) + b_up) + σ(W_fp l + b_fp) ⊙ m + σ(W_fp r + b_fp) ⊙ n",
        ]

    @classmethod
    def several_equations(cls, options: Any) -> list[str]:
        return [
            "s_j = Σ_{c: π_c = j} h_c     for λ_j > 0     — π_c: the parent of c",
            "z_j = Σ_{c: π_c = j} σ(W_fp h_c + b_fp) ⊙ m_c     for λ_j > 0",
            "h_j, m_j = node_x(s_j, z_j)     for λ_j > 0",
            *cls.leaf_equations,
            "node_x(s, z) = (o ⊙ tanh(v), v)",
            "    o = σ(W_op s + b_op)",
            "    v = σ(W_ip s + b_ip) ⊙ tanh(W_up s + b_up) + z",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        node = linear("node", ("W_ip", "W_up", "W_op"), ("b_ip", "b_up", "b_op"))
        return super().letters(options) | node | linear("forget", "W_fp", "b_fp")

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.node = nn.Linear(size, 3 * size)  # i, u, o
        self.forget = nn.Linear(size, size)
        with torch.no_grad():
            self.forget.bias.fill_(1.0)

    def pair(self, left: Tensor, right: Tensor) -> Tensor:
        (h, m), (k, n) = left.chunk(2, -1), right.chunk(2, -1)
        kept = torch.sigmoid(self.forget(h)) * m + torch.sigmoid(self.forget(k)) * n
        return self._together(h + k, kept)

    def several(self, children: Tensor, owner: Tensor, count: int) -> Tensor:
        h, m = children.chunk(2, -1)
        zeros = children.new_zeros(count, self.size)
        kept = zeros.index_add(0, owner, torch.sigmoid(self.forget(h)) * m)
        return self._together(zeros.index_add(0, owner, h), kept)

    def _together(self, sums: Tensor, kept: Tensor) -> Tensor:
        i, u, o = self.node(sums).chunk(3, -1)
        memory = torch.sigmoid(i) * torch.tanh(u) + kept
        return torch.cat([torch.sigmoid(o) * torch.tanh(memory), memory], -1)
