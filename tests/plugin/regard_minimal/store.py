"""A store: a running sum, which is read whole."""

from __future__ import annotations

from typing import Any

from torch import Tensor

import regard
from regard.nn.letters import Letters


@regard.register("store", "sum")
class SumStore(regard.nn.Store):
    """Every step adds a value; what is read is the sum of all."""

    def __init__(self, size: int, width: int = 20, heads: int = 1) -> None:
        super().__init__(size, width, heads, {"va": width})

    @classmethod
    def equations(cls, options: Any, j: str, state: str, length: str) -> list[str]:
        return [
            "k = 1 … K",
            f"v_{j} = v_{{{j}−1}} + W_va {state} + b_va",
            "v_0 = 0",
            f"r_{j}k = v_{j}     — the sum",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return {**super().letters(options), "interface.weight": "W_va", "interface.bias": "b_va"}

    def start(self, rows: int) -> Tensor:
        return self.first_read.new_zeros(rows, self.width)

    def step(self, controller: Tensor, state: Tensor) -> regard.nn.StoreStep:
        total = state + self.said(controller)["va"]  # (B, width)
        return regard.nn.StoreStep(total.repeat(1, self.heads), total)
