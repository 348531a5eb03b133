"""The long short-term memory cell (Hochreiter and Schmidhuber 1997, with a forget gate).

    i, f, o = σ(W x + b + U h + c) each,  g = tanh(W_g x + b_g + U_g h + c_g)
    c' = f ⊙ c + i ⊙ g,  h' = o ⊙ tanh(c')                  `activation` replaces tanh in both places

Weights have torch's names, shapes and order of gates (i, f, g, o), so that they can be exchanged with `torch.nn.LSTM`.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.cells.cell import ACTIVATIONS, Activation, Cell, TorchRecurrence, squashed
from regard.nn.letters import Letters, gate_letters
from regard.nn.path import Replaces, faster
from regard.parts import register


@register("cell", "lstm")
class LSTMCell(Cell):
    """The state is [h; c]."""

    class Options(Cell.Options):
        """The long short-term memory."""

        activation: Activation = "tanh"
        """Activation function of the candidate g and of the carry."""

    gates = 4
    states = 2

    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        new = squashed(options.activation, f"W_g{mark} x + b_g{mark} + U_g{mark} h + c_g{mark}")
        return [
            f"lstm_{mark}(h, m, x) = (o ⊙ {squashed(options.activation, 'm′')}, m′)",
            f"    i = σ(W_i{mark} x + b_i{mark} + U_i{mark} h + c_i{mark})",
            f"    f = σ(W_f{mark} x + b_f{mark} + U_f{mark} h + c_f{mark})",
            f"    g = {new}",
            f"    o = σ(W_o{mark} x + b_o{mark} + U_o{mark} h + c_o{mark})",
            "    m′ = f ⊙ m + i ⊙ g",
        ]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("ifgo", mark)

    def torch_recurrence(self) -> TorchRecurrence | None:
        return recurrence if self.activation == "tanh" and WRITTEN(self) else None

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        found: Tensor | None = faster("lstm.advance", state.device, self, projected, state)
        if found is not None:
            return found
        entry, forget, new, exit_ = self._gates(projected, state)
        carry = forget * state[..., self.size :] + entry * new
        return torch.cat([exit_ * ACTIVATIONS[self.activation](carry), carry], -1)

    def _gates(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """i, f, g and o of a step."""
        recurrent = nn.functional.linear(state[..., : self.size], self.weight_hh, self.bias_hh)
        entry, forget, new, exit_ = (projected + recurrent).chunk(4, -1)
        squash = ACTIVATIONS[self.activation]
        return torch.sigmoid(entry), torch.sigmoid(forget), squash(new), torch.sigmoid(exit_)

    def shown(self, projected: Tensor, state: Tensor, advanced: Tensor) -> dict[str, Tensor]:
        entry, forget, new, exit_ = self._gates(projected, state)
        hidden, carry = advanced.chunk(2, -1)
        gates = {"input": entry, "forget": forget, "output": exit_, "candidate": new}
        return {**gates, "cell": carry, "hidden": hidden}


def recurrence(inputs: Tensor, sizes: Tensor | None, first: Tensor, *common: Any) -> tuple[Tensor, Tensor]:
    """torch's, with the states [h; c] as one tensor."""
    states = [part.contiguous() for part in first.chunk(2, -1)]
    given: tuple[Any, ...] = (inputs, states) if sizes is None else (inputs, sizes, states)
    outputs, last, carry = torch.lstm(*given, *common, *([False] if sizes is None else []))
    return outputs, torch.cat([last, carry], -1)


WRITTEN = Replaces(LSTMCell)
"""The cells that torch's recurrence computes."""
