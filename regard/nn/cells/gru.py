"""The gated recurrent unit (Cho et al. 2014).

    r = σ(W_r x + b_r + U_r h + c_r)
    z = σ(W_z x + b_z + U_z h + c_z)
    n = tanh(W_n x + b_n + r ⊙ (U_n h + c_n))
    h' = (1 − z) ⊙ n + z ⊙ h                      update "torch": z keeps the old state (torch, cuDNN)
    h' = z ⊙ n + (1 − z) ⊙ h                      update "cho":   z lets the new state in (Bahdanau 2015)

Weights have torch's names, shapes and order of gates (r, z, n), so that they can be exchanged with `torch.nn.GRU`.
Because 1 − σ(a) = σ(−a), the two updates are one recurrence whose z rows differ in sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.nn.cells.cell import Cell, TorchRecurrence
from regard.parts import register
from regard.private import gru_cell

Update = Literal["torch", "cho"]
UPDATES = {"torch": "(1 − z) ⊙ n + z ⊙ h", "cho": "z ⊙ n + (1 − z) ⊙ h"}


@register("cell", "gru")
class GRUCell(Cell):
    """See the equations above."""

    class Options(Cell.Options):
        """The gated recurrent unit."""

        update: Update = "torch"
        """The convention: torch h' = (1−z)·n + z·h; cho h' = z·n + (1−z)·h."""

    gates = 3

    def __init__(self, input_size: int, size: int, *, update: Update = "torch") -> None:
        super().__init__(input_size, size)
        self.update = update

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        return [
            f"gru_{mark}(h, x) = {UPDATES[options.update]}",
            f"    r = σ(W_r{mark} x + b_r{mark} + U_r{mark} h + c_r{mark})",
            f"    z = σ(W_z{mark} x + b_z{mark} + U_z{mark} h + c_z{mark})",
            f"    n = tanh(W_n{mark} x + b_n{mark} + r ⊙ (U_n{mark} h + c_n{mark}))",
        ]

    @property
    def kernel(self) -> str | None:
        return "gru" if type(self) is GRUCell else None

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self.update == "torch":
            return super().torch_weights()
        sign = torch.ones_like(self.bias_ih)  # Cho's gate is torch's with its rows negated
        sign[self.size : 2 * self.size] = -1
        rows = sign[:, None]
        return self.weight_ih * rows, self.weight_hh * rows, self.bias_ih * sign, self.bias_hh * sign

    def torch_recurrence(self) -> TorchRecurrence | None:
        return torch.gru

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
        size = self.size
        if state.is_cuda and self.update == "torch" and gru_cell is not None:
            return self._advance_at_once(gru_cell, projected, recurrent, state)
        reset, update = torch.sigmoid(projected[..., : 2 * size] + recurrent[..., : 2 * size]).chunk(2, -1)
        new = torch.tanh(projected[..., 2 * size :] + reset * recurrent[..., 2 * size :])
        if self.update == "torch":
            return torch.lerp(new, state, update)
        return torch.lerp(state, new, update)

    def _advance_at_once(
        self, run: Callable[..., Any], projected: Tensor, recurrent: Tensor, state: Tensor
    ) -> Tensor:
        """torch's kernel for everything after the matrix products: one launch instead of eight."""
        gates = 3 * self.size
        rows = (projected.reshape(-1, gates), recurrent.reshape(-1, gates), state.reshape(-1, self.size))
        advanced: Tensor = run(*(row.to(recurrent.dtype) for row in rows))[0]
        return advanced.view_as(state)
