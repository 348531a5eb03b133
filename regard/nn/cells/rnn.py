"""The plain recurrent cell (Elman 1990)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.nn.cells.cell import Cell, TorchRecurrence
from regard.parts import register

Activation = Literal["tanh", "sigmoid", "relu", "identity"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "identity": lambda preactivation: preactivation,
}
WRITTEN = {"tanh": "tanh", "sigmoid": "σ", "relu": "relu", "identity": ""}


@register("cell", "rnn")
class RNNCell(Cell):
    """h' = f(W x + b + U h + c), weights named and shaped as in `torch.nn.RNN`."""

    class Options(Cell.Options):
        """h' = f(W x + b + U h + c)."""

        activation: Activation = "tanh"
        """f."""

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        inside = f"W_{mark} x + b_{mark} + U_{mark} h + c_{mark}"
        function = WRITTEN[options.activation]
        return [f"rnn_{mark}(h, x) = " + (f"{function}({inside})" if function else inside)]

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
        return ACTIVATIONS[self.activation](projected + recurrent)

    @property
    def kernel(self) -> str | None:
        return self.activation if type(self) is RNNCell else None

    def torch_recurrence(self) -> TorchRecurrence | None:
        return {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}.get(self.activation)
