"""Recurrent cells: one step of a recurrence, split in the part that sees the input and the part that sees the state.

    rnn    h' = f(W x + b + U h + c),                    f one of tanh, sigmoid, relu, identity
    gru    r = σ(W_r x + b_r + U_r h + c_r)
           z = σ(W_z x + b_z + U_z h + c_z)
           n = tanh(W_n x + b_n + r ⊙ (U_n h + c_n))
           h' = (1 − z) ⊙ n + z ⊙ h                      update "torch": z keeps the old state (torch, cuDNN)
           h' = z ⊙ n + (1 − z) ⊙ h                      update "cho":   z lets the new state in (Bahdanau 2015)
    lstm   i, f, o = σ(·), g = tanh(·);  c' = f ⊙ c + i ⊙ g,  h' = o ⊙ tanh(c')

Weights have torch's names, shapes and order of gates (r, z, n and i, f, g, o), so that they can be exchanged with
`torch.nn.GRU` and its kin. Because 1 − σ(a) = σ(−a), the two updates are one recurrence whose z rows differ in sign.

W x + b of every time step is known before the recurrence starts (`project`, one matrix product for all of them);
only U h + c must wait for the state (`advance`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.private import gru_cell, lstm_cell

CellName = Literal["rnn", "gru", "lstm"]
Activation = Literal["tanh", "sigmoid", "relu", "identity"]
Update = Literal["torch", "cho"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "identity": lambda preactivation: preactivation,
}


class Cell(nn.Module):
    """One recurrent layer, one step.

    A state is one tensor (…, state_size); `output` gives the part of it that others see, (…, size).
    """

    gates: int = 1

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size, self.state_size = input_size, size, size
        bound = 1 / math.sqrt(size)
        for name, shape in {
            "weight_ih": (self.gates * size, input_size),
            "weight_hh": (self.gates * size, size),
            "bias_ih": (self.gates * size,),
            "bias_hh": (self.gates * size,),
        }.items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape).uniform_(-bound, bound)))

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor
    bias_hh: Tensor

    def project(self, inputs: Tensor) -> Tensor:
        """(…, input_size) → (…, gates·size): the input's share of every gate, W x + b."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        """(…, gates·size), (…, state_size) → (…, state_size)."""
        raise NotImplementedError

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.size]

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W, U, b, c as torch's own recurrences expect them."""
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        return self.advance(self.project(inputs), state)


class RNNCell(Cell):
    def __init__(self, input_size: int, size: int, *, activation: Activation = "tanh") -> None:
        super().__init__(input_size, size)
        self.activation = activation

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        recurrent = nn.functional.linear(state, self.weight_hh, self.bias_hh)
        return ACTIVATIONS[self.activation](projected + recurrent)


class GRUCell(Cell):
    gates = 3

    def __init__(self, input_size: int, size: int, *, update: Update = "torch") -> None:
        super().__init__(input_size, size)
        self.update = update

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        if self.update == "torch":
            return super().torch_weights()
        sign = torch.ones_like(self.bias_ih)  # Cho's gate is torch's with its rows negated
        sign[self.size : 2 * self.size] = -1
        rows = sign[:, None]
        return self.weight_ih * rows, self.weight_hh * rows, self.bias_ih * sign, self.bias_hh * sign

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


class LSTMCell(Cell):
    """Its state is [h; c]."""

    gates = 4

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__(input_size, size)
        self.state_size = 2 * size

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        hidden, carry = state.chunk(2, -1)
        recurrent = nn.functional.linear(hidden, self.weight_hh, self.bias_hh)
        if state.is_cuda and lstm_cell is not None:
            return self._advance_at_once(lstm_cell, projected, recurrent, carry)
        preactivations = projected + recurrent
        entry, forget, new, exit_ = preactivations.chunk(4, -1)
        carry = torch.sigmoid(forget) * carry + torch.sigmoid(entry) * torch.tanh(new)
        return torch.cat([torch.sigmoid(exit_) * torch.tanh(carry), carry], -1)

    def _advance_at_once(
        self, run: Callable[..., Any], projected: Tensor, recurrent: Tensor, carry: Tensor
    ) -> Tensor:
        """torch's kernel for everything after the matrix products: one launch instead of ten."""
        gates = 4 * self.size
        rows = (projected.reshape(-1, gates), recurrent.reshape(-1, gates), carry.reshape(-1, self.size))
        hidden, carried, _ = run(*(row.to(recurrent.dtype) for row in rows))
        return torch.cat([hidden, carried], -1).view(*carry.shape[:-1], self.state_size)


def make_cell(
    name: CellName, input_size: int, size: int, *, activation: Activation = "tanh", update: Update = "torch"
) -> Cell:
    """The cell of that name; options that do not belong to it are refused."""
    if activation not in ACTIVATIONS or (activation != "tanh" and name != "rnn"):
        raise RegardError(
            f"Cell {name!r} does not take activation {activation!r}.",
            fix="Choose tanh, sigmoid, relu or identity with cell rnn; gru and lstm have their own.",
        )
    if update not in ("torch", "cho") or (update != "torch" and name != "gru"):
        raise RegardError(
            f"Cell {name!r} does not take update {update!r}.", fix="Choose torch or cho, with cell gru."
        )
    if name == "rnn":
        return RNNCell(input_size, size, activation=activation)
    if name == "gru":
        return GRUCell(input_size, size, update=update)
    if name == "lstm":
        return LSTMCell(input_size, size)
    raise RegardError(f"There is no cell {name!r}.", fix="Choose rnn, gru or lstm.")
