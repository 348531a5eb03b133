"""The multiplicative recurrent cell (Sutskever, Martens and Hinton 2011): the input chooses the recurrence.

    m = (V x + a) ⊙ (U_m h + c_m)
    h' = tanh(W x + b + U m + c)

The input thus selects the matrix of the recurrence, U diag(V x) U_m; for characters, each letter has its own.
The published cell has no a and c_m.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from regard.nn.cells.cell import ACTIVATIONS, Activation, Cell, squashed
from regard.nn.letters import Letters, gate_letters
from regard.parts import register


@register("cell", "mrnn")
class MultiplicativeCell(Cell):
    """The weights contain the rows of m first, then the rows of h'."""

    class Options(Cell.Options):
        """The multiplicative recurrent cell: the input chooses the matrix of the recurrence."""

        activation: Activation = "tanh"
        """Activation function of the state."""

    gates = 2

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        inside = f"W_h{mark} x + b_h{mark} + U_h{mark} m + c_h{mark}"
        return [
            f"mrnn_{mark}(h, x) = {squashed(options.activation, inside)}",
            f"    m = (W_m{mark} x + b_m{mark}) ⊙ (U_m{mark} h + c_m{mark})",
        ]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("mh", mark)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        size, chosen = self.size, self._factors(projected, state)
        recurrent = nn.functional.linear(chosen, self.weight_hh[size:], self.bias_hh[size:])
        return ACTIVATIONS[self.activation](projected[..., size:] + recurrent)

    def _factors(self, projected: Tensor, state: Tensor) -> Tensor:
        """m of a step."""
        factors = nn.functional.linear(state, self.weight_hh[: self.size], self.bias_hh[: self.size])
        return projected[..., : self.size] * factors

    def shown(self, projected: Tensor, state: Tensor, advanced: Tensor) -> dict[str, Tensor]:
        return {"factors": self._factors(projected, state), "hidden": advanced}
