"""The gated recurrent unit (Cho et al. 2014).

    r = σ(W_r x + b_r + U_r h + c_r)
    z = σ(W_z x + b_z + U_z h + c_z)
    n = tanh(W_n x + b_n + r ⊙ (U_n h + c_n))     reset "after" the product (torch, cuDNN)
    n = tanh(W_n x + b_n + U_n (r ⊙ h) + c_n)     reset "before" it (Cho 2014, Bahdanau 2015)
    h' = (1 − z) ⊙ n + z ⊙ h                      update "torch": z keeps the old state (torch, cuDNN)
    h' = z ⊙ n + (1 − z) ⊙ h                      update "cho":   z lets the new state in (Bahdanau 2015)

Weights have torch's names, shapes and order of gates (r, z, n), so that they can be exchanged with `torch.nn.GRU`.
Because 1 − σ(a) = σ(−a), the two updates are one recurrence whose z rows differ in sign. With a reset before
the product, U_n must wait for r: this takes two consecutive products, and neither torch nor regard has a
kernel for it.
"""

from __future__ import annotations

from typing import Any, Literal

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
from regard.nn.path import Replaces, faster
from regard.parts import register

Update = Literal["torch", "cho"]
Reset = Literal["after", "before"]
RECURRENCE = dense_or_packed(torch.gru)
UPDATES = {"torch": "(1 − z) ⊙ n + z ⊙ h", "cho": "z ⊙ n + (1 − z) ⊙ h"}


@register("cell", "gru")
class GRUCell(Cell):
    """The gated recurrent unit (Cho et al. 2014): a reset gate r, an update gate z and a candidate n."""

    class Options(Cell.Options):
        """The gated recurrent unit."""

        update: Update = "torch"
        """Convention of the update. torch: h' = (1−z)·n + z·h; cho: h' = z·n + (1−z)·h."""
        reset: Reset = "after"
        """Where the reset gate acts. after: r ⊙ (U h + c), as torch does;
        before: U (r ⊙ h) + c, as published."""
        activation: Activation = "tanh"
        """Activation function of the candidate n."""

    gates = 3

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        update: Update = "torch",
        reset: Reset = "after",
        activation: Activation = "tanh",
    ) -> None:
        super().__init__(input_size, size)
        self.update, self.reset, self.activation = update, reset, activation

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        new = f"W_n{mark} x + b_n{mark} + r ⊙ (U_n{mark} h + c_n{mark})"
        if options.reset == "before":
            new = f"W_n{mark} x + b_n{mark} + U_n{mark} (r ⊙ h) + c_n{mark}"
        return [
            f"gru_{mark}(h, x) = {UPDATES[options.update]}",
            f"    r = σ(W_r{mark} x + b_r{mark} + U_r{mark} h + c_r{mark})",
            f"    z = σ(W_z{mark} x + b_z{mark} + U_z{mark} h + c_z{mark})",
            f"    n = {squashed(options.activation, new)}",
        ]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        return gate_letters("rzn", mark)

    @property
    def as_torch(self) -> bool:
        """Whether torch's GRU computes the same, with z rows of either sign."""
        return self.reset == "after" and self.activation == "tanh"

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self.update == "torch":
            return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        sign = torch.ones_like(self.bias_ih)  # Cho's gate is torch's with its rows negated
        sign[self.size : 2 * self.size] = -1
        rows = sign[:, None]
        return self.weight_ih * rows, self.weight_hh * rows, self.bias_ih * sign, self.bias_hh * sign

    def torch_recurrence(self) -> TorchRecurrence | None:
        return RECURRENCE if self.as_torch and WRITTEN(self) else None

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        found: Tensor | None = faster("gru.advance", state.device, self, projected, state)
        if found is not None:
            return found
        _, update, new = self._gates(projected, state)
        if self.update == "torch":
            return torch.lerp(new, state, update)
        return torch.lerp(state, new, update)

    def _gates(self, projected: Tensor, state: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """r, z and n of a step."""
        split, squash = 2 * self.size, ACTIVATIONS[self.activation]
        if self.reset == "before":
            recurrent = nn.functional.linear(state, self.weight_hh[:split], self.bias_hh[:split])
            reset, update = torch.sigmoid(projected[..., :split] + recurrent).chunk(2, -1)
            candidate = nn.functional.linear(reset * state, self.weight_hh[split:], self.bias_hh[split:])
            new = squash(projected[..., split:] + candidate)
        else:
            recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
            reset, update = torch.sigmoid(projected[..., :split] + recurrent[..., :split]).chunk(2, -1)
            new = squash(projected[..., split:] + reset * recurrent[..., split:])
        return reset, update, new

    def shown(self, projected: Tensor, state: Tensor, advanced: Tensor) -> dict[str, Tensor]:
        reset, update, new = self._gates(projected, state)
        return {"reset": reset, "update": update, "candidate": new, "hidden": advanced}


WRITTEN = Replaces(GRUCell)
"""The cells that torch's recurrence computes."""
