"""The recurrence from the output (Jordan 1986): what is handed on is not the hidden layer but what it wrote.

    y' = f(V f(W x + b + U y + c) + d)

All that a step knows of the past went through the output: such a network is easier to train in parallel, since the
true outputs are known, and remembers less.
"""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor, nn

from regard.nn.cells.cell import ACTIVATIONS, Activation, Cell, squashed
from regard.parts import register


@register("cell", "jordan")
class JordanCell(Cell):
    """Its state is y; the hidden layer, as large, lasts for one step."""

    class Options(Cell.Options):
        """The recurrence goes from the output, not from the hidden layer (Jordan 1986)."""

        activation: Activation = "tanh"
        """f."""

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation
        self.write = nn.Linear(size, size)
        for parameter in self.write.parameters():
            nn.init.uniform_(parameter, -1 / math.sqrt(size), 1 / math.sqrt(size))

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        hidden = squashed(options.activation, f"W_h{mark} x + b_h{mark} + U_h{mark} h + c_h{mark}")
        return [f"jordan_{mark}(h, x) = {squashed(options.activation, f'V_h{mark} {hidden} + d_h{mark}')}"]

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        squash = ACTIVATIONS[self.activation]
        hidden = squash(projected + nn.functional.linear(state, self.weight_hh, self.bias_hh))
        written: Tensor = squash(self.write(hidden))
        return written
