"""Recurrence from the output (Jordan 1986): a step receives the previous output instead of the hidden layer.

    y' = f(V f(W x + b + U y + c) + d)

A step knows the past only through the output. Such a network remembers less, but is easier to train in
parallel, because the true outputs are known.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from regard.nn.cells.cell import ACTIVATIONS, Activation, Cell, squashed
from regard.nn.letters import Letters, gate_letters, linear
from regard.parts import register


@register("cell", "jordan")
class JordanCell(Cell):
    """The state is y. The hidden layer has the same size and lasts for one step."""

    class Options(Cell.Options):
        """Recurrence from the output instead of the hidden layer (Jordan 1986)."""

        activation: Activation = "tanh"
        """Activation function of both layers."""

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation
        self.write = nn.Linear(size, size)
        for parameter in self.write.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(size), 1 / math.sqrt(size))

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        hidden = squashed(options.activation, f"W_h{mark} x + b_h{mark} + U_h{mark} y + c_h{mark}")
        return [f"jordan_{mark}(y, x) = {squashed(options.activation, f'V_h{mark} {hidden} + d_h{mark}')}"]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("h", mark) | linear("write", f"V_h{mark}", f"d_h{mark}")

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        written: Tensor = ACTIVATIONS[self.activation](self.write(self._hidden(projected, state)))
        return written

    def _hidden(self, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
        return ACTIVATIONS[self.activation](projected + recurrent)

    def shown(self, projected: Tensor, state: Tensor, advanced: Tensor) -> dict[str, Tensor]:
        return {"hidden": self._hidden(projected, state), "output": advanced}
