"""The plain recurrent cell (Elman 1990)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.cells.cell import (
    ACTIVATIONS,
    Activation,
    Cell,
    TorchRecurrence,
    dense_or_packed,
    squashed,
)
from regard.nn.letters import Letters, gate_letters
from regard.nn.path import Replaces
from regard.parts import register


@register("cell", "rnn")
class RNNCell(Cell):
    """h' = f(W x + b + U h + c), weights named and shaped as in `torch.nn.RNN`."""

    class Options(Cell.Options):
        """h' = f(W x + b + U h + c)."""

        activation: Activation = "tanh"
        """Activation function f."""

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        inside = f"W_h{mark} x + b_h{mark} + U_h{mark} h + c_h{mark}"
        return [f"rnn_{mark}(h, x) = {squashed(options.activation, inside)}"]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("h", mark)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
        return ACTIVATIONS[self.activation](projected + recurrent)

    def torch_recurrence(self) -> TorchRecurrence | None:
        return RECURRENCES.get(self.activation) if WRITTEN(self) else None


RECURRENCES = {"tanh": dense_or_packed(torch.rnn_tanh), "relu": dense_or_packed(torch.rnn_relu)}
WRITTEN = Replaces(RNNCell)
"""The cells that torch's recurrence computes."""
