"""The minimal gated unit (Zhou et al. 2016)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import regard
from regard.nn.letters import Letters, gate_letters


@regard.register("cell", "minimal-gated")
class MinimalGatedCell(regard.nn.Cell):
    """f = σ(W_f x + U_f h + b_f),  h' = (1 − f) ⊙ h + f ⊙ tanh(W_h x + U_h (f ⊙ h) + b_h)."""

    gates = 2

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        name = cls.written_name(options)
        return [
            f"{name}_{mark}(h, x) = (1 − f) ⊙ h + f ⊙ n",
            f"    f = σ(W_f{mark} x + b_f{mark} + U_f{mark} h + c_f{mark})",
            f"    n = tanh(W_n{mark} x + b_n{mark} + U_n{mark} (f ⊙ h) + c_n{mark})",
        ]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("fn", mark)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        gate_input, new_input = projected.chunk(2, -1)
        gate_weight, new_weight = self.weight_hh.chunk(2)
        gate_bias, new_bias = self.bias_hh.chunk(2)
        gate = torch.sigmoid(gate_input + nn.functional.linear(state, gate_weight, gate_bias))
        new = torch.tanh(new_input + nn.functional.linear(gate * state, new_weight, new_bias))
        return torch.lerp(state, new, gate)
