"""A recurrent cell: one step of a recurrence, split in the part that sees the input and the part that sees the state.

W x + b of every time step is known before the recurrence starts (`project`, one matrix product for all of them);
only U h + c must wait for the state (`advance`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn

from regard import parts
from regard.parts import find, one_of

TorchRecurrence = Callable[..., tuple[Tensor, Tensor]]
"""inputs (N, I), rows alive at each step, first states (directions, B, state), weights, … → outputs and last states;
or inputs (T, B, I) of rows of one length, None, and the same."""

AnyCell = Annotated[Any, one_of("cell")]
"""A key of options that chooses a cell: `cell: gru`, `cell: {type: rnn, activation: relu}`."""


Activation = Literal["tanh", "sigmoid", "relu", "identity"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "identity": lambda preactivation: preactivation,
}


def squashed(activation: str, inside: str) -> str:
    """`tanh(inside)` as a board writes it."""
    name = {"sigmoid": "σ", "identity": ""}.get(activation, activation)
    return f"{name}({inside})" if name else inside


class Cell(nn.Module):
    """One recurrent layer, one step.

    A state is one tensor (…, state_size); `output` gives the part of it that others see, (…, size). A new cell derives
    from this class, says how many `gates` it has, and writes `advance` and `equations`; everything else follows.

    carries   whether the state is [h; m], h being what others see and m as large
    """

    class Options(parts.Options):
        """A cell has the options its own file names."""

    gates: int = 1
    carries: bool = False

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

    @classmethod
    def build(cls, options: Any, input_size: int, size: int) -> Cell:
        """The cell with its options, for inputs and states of these sizes."""
        return cls(input_size, size, **dict(options))

    @classmethod
    def linear_input(cls, options: Any) -> bool:
        """Whether the input's share of the gates is W x + b alone, so that a decoder can project its parts apart."""
        return True

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        """The function `name_mark(h, x)` that is one step from the state h with the input x; every weight has the mark
        below it. A cell that `carries` more than h takes and gives it too: `lstm_mark(h, m, x) = (…, …)`."""
        raise NotImplementedError

    @classmethod
    def written_step(
        cls, options: Any, mark: str, state: str, before: str, inputs: str, carried: str = "m"
    ) -> str:
        """`s_t = gru_y(s_{t−1}, x_t)` of the mark y, the states s_t and s_{t−1}, and the inputs x_t.

        carried   the letter of what the cell carries beside the state
        """
        results, taken = [state], [before]
        if cls.carries:
            results.append(carried_by(state, carried))
            taken.append(carried_by(before, carried))
        return f"{', '.join(results)} = {cls.written_name(options)}_{mark}({', '.join([*taken, inputs])})"

    @classmethod
    def written_name(cls, options: Any) -> str:
        """Its name as that of a function."""
        return "".join(filter(str.isalpha, options.type))

    def project(self, inputs: Tensor) -> Tensor:
        """(…, input_size) → (…, gates·size): the input's share of every gate, W x + b."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih)

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        """(…, gates·size), (…, state_size) → (…, state_size)."""
        raise NotImplementedError

    def output(self, state: Tensor) -> Tensor:
        return state[..., : self.size]

    @property
    def kernel(self) -> str | None:
        """The recurrence of `regard.kernels` that computes exactly this cell; None where there is none."""
        return None

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W, U, b, c as torch's own recurrences expect them."""
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def torch_recurrence(self) -> TorchRecurrence | None:
        """torch's own recurrence over whole sequences with these weights (cuDNN's on CUDA); None where it has none."""
        return None

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        return self.advance(self.project(inputs), state)


def dense_or_packed(run: Callable[..., tuple[Tensor, Tensor]]) -> TorchRecurrence:
    """One of torch's recurrences, for packed inputs and for those of rows of one length."""

    def either(inputs: Tensor, sizes: Tensor | None, first: Tensor, *common: Any) -> tuple[Tensor, Tensor]:
        return run(inputs, first, *common, False) if sizes is None else run(inputs, sizes, first, *common)

    return either


def carried_by(state: str, letter: str) -> str:
    """`→m_{j−1}` of the state `→h_{j−1}` and the letter m."""
    return re.sub(r"^([→←]?)\w", rf"\g<1>{letter}", state)


def make_cell(cell: str | parts.Options, input_size: int, size: int) -> Cell:
    """The cell a name or its options describe."""
    options = find("cell", cell).Options() if isinstance(cell, str) else cell
    made: Cell = options.part.build(options, input_size, size)
    return made
