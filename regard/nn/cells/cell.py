"""A recurrent cell: one step of a recurrence, split into the input's part and the state's part.

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
from regard.errors import RegardError
from regard.nn.letters import Letters
from regard.nn.watching import record_of
from regard.parts import find, one_of
from regard.parts.contract import base, declared, optional, required

TorchRecurrence = Callable[..., tuple[Tensor, Tensor]]
"""inputs (N, I), number of active rows at each step, first states (directions, B, state), weights, … →
outputs and last states. For rows of equal length: inputs (T, B, I), None, and the same."""

AnyCell = Annotated[Any, one_of("cell")]
"""A key of options that chooses a cell: `cell: gru`, `cell: {type: rnn, activation: relu}`."""


Activation = Literal["tanh", "sigmoid", "relu", "identity"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "identity": lambda preactivation: preactivation,
}


ABOVE = "\u0302\u0303\u0304\u0307\u0308"
"""Marks above a letter: hat, tilde, bar, dot, two dots."""


def squashed(activation: str, inside: str) -> str:
    """`tanh(inside)` as a board writes it."""
    name = {"sigmoid": "σ", "identity": ""}.get(activation, activation)
    return f"{name}({inside})" if name else inside


@base("cell", gives=("input_size", "size"), spread=True, maker="build")
class Cell(nn.Module):
    """One step of one recurrent layer.

    A state is one tensor (…, state_size); `output` returns its visible part, (…, size). To add a cell, derive
    from this class, set the number of `gates`, and write `advance` and `equations`.

    states    number of vectors of the same size in the state: 1, or 2 for [h; m], where h is visible, and so on
    carries   whether there is more than one; a cell that sets it instead has two
    projects  whether it writes its own `project`
    """

    class Options(parts.Options):
        """Each cell defines its own options."""

    gates: int = 1
    states: int = 1
    carries: bool = False
    projects: bool = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = vars(cls)
        if "carries" in own and "states" not in own:
            cls.states = 2 if cls.carries else 1
        elif isinstance(cls.states, int):
            cls.carries = cls.states > 1

    def __init__(self, input_size: int, size: int) -> None:
        super().__init__()
        self.input_size, self.size, self.state_size = input_size, size, self.states * size
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
    def declared_wrong(cls) -> str | None:
        """Why the declarations of the class are not valid; None if they are. Asked when it is registered."""
        if not isinstance(cls.gates, int) or cls.gates < 1:
            return f"declares gates = {cls.gates!r}; expected the number of its gates, 1 or more"
        if not isinstance(cls.states, int) or cls.states < 1:
            return f"declares states = {cls.states!r}; expected the number of vectors in its state, 1 or more"
        return None

    @classmethod
    def build(cls, options: Any, input_size: int, size: int) -> Cell:
        """The cell with its options, for inputs and states of these sizes."""
        return cls(input_size, size, **dict(options))

    @classmethod
    @optional("when a model is built")
    def linear_input(cls, options: Any) -> bool:
        """Whether the input enters the gates as W x + b only, so that a decoder can project it in parts; by
        default, unless it `projects`."""
        return not cls.projects

    @classmethod
    @required("by `regard describe`, and to draw the network")
    def equations(cls, options: Any, mark: str) -> list[str]:
        """The function `name_mark(h, x)`: one step from the state h with the input x. The mark is the
        subscript of every weight. A cell of several `states` takes and returns them all:
        `lstm_mark(h, m, x) = (…, …)`."""
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any, mark: str) -> Letters:
        """The letter of each parameter in `equations` (`regard.nn.letters`)."""
        return {}

    @classmethod
    def written_step(
        cls, options: Any, mark: str, state: str, before: str, inputs: str, carried: str = "m"
    ) -> str:
        """`s_t = gru_y(s_{t−1}, x_t)` from the mark y, the states s_t and s_{t−1}, and the inputs x_t.

        carried   the letter for what the cell carries beside the state; further vectors have marks above it
        """
        results, taken = [state], [before]
        for letter in cls.carried_letters(carried):
            results.append(carried_by(state, letter))
            taken.append(carried_by(before, letter))
        return f"{', '.join(results)} = {cls.written_name(options)}_{mark}({', '.join([*taken, inputs])})"

    @classmethod
    def carried_letters(cls, letter: str) -> list[str]:
        """Letters of the vectors beside the first: m, m̂, m̃ and so on."""
        marks = ["", *(ABOVE[n % len(ABOVE)] * (n // len(ABOVE) + 1) for n in range(cls.states))]
        return [letter + mark for mark in marks[: cls.states - 1]]

    @classmethod
    @optional("by `equations` and `written_step`")
    def written_name(cls, options: Any) -> str:
        """The cell's name as the name of a function."""
        return "".join(filter(str.isalpha, options.type))

    @declared("projects")
    def project(self, inputs: Tensor) -> Tensor:
        """(…, input_size) → (…, gates·size): the input's share of every gate, W x + b."""
        return nn.functional.linear(inputs, self.weight_ih, self.bias_ih)

    @required("at every step of a sequence")
    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        """(…, gates·size), (…, state_size) → (…, state_size)."""
        raise NotImplementedError

    def stepped(self, projected: Tensor, state: Tensor) -> Tensor:
        """As `advance`; what the cell shows of the step is kept if someone watches it (`regard.nn.watching`)."""
        advanced = self.advance(projected, state)
        record = record_of(self)
        if record is not None:
            record.add(self.shown(projected, state, advanced))
        return advanced

    @optional("at every step of a cell whose states are recorded")
    def shown(self, projected: Tensor, state: Tensor, advanced: Tensor) -> dict[str, Tensor]:
        """What a trace shows of a step, (…, D) by name, from the arguments of `advance` and its result: the gates of
        the cell. By default the vectors of the new state: "hidden", and "cell" if it carries another."""
        names = ["hidden", *(f"cell {number}" if number > 1 else "cell" for number in range(1, self.states))]
        return dict(zip(names, advanced.split(self.size, -1), strict=True))

    @optional("after every step, where the state is more than what others see")
    def output(self, state: Tensor) -> Tensor:
        """(…, state_size) → (…, size), the part of the state that others see."""
        return state[..., : self.size]

    def torch_weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """W, U, b, c as torch's recurrences expect them."""
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def torch_recurrence(self) -> TorchRecurrence | None:
        """torch's recurrence over whole sequences with these weights (cuDNN's on CUDA), if there is one: the same
        object for all cells that can run together."""
        return None

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        return self.stepped(self.project(inputs), state)


def dense_or_packed(run: Callable[..., tuple[Tensor, Tensor]]) -> TorchRecurrence:
    """One of torch's recurrences, for both packed inputs and rows of equal length."""

    def either(inputs: Tensor, sizes: Tensor | None, first: Tensor, *common: Any) -> tuple[Tensor, Tensor]:
        return run(inputs, first, *common, False) if sizes is None else run(inputs, sizes, first, *common)

    return either


def carried_by(state: str, letter: str) -> str:
    """`→m_{j−1}` from the state `→h_{j−1}` and the letter m."""
    return re.sub(r"^([→←]?)\w", rf"\g<1>{letter}", state)


def states_of(cell: Cell) -> int:
    """Number of vectors of the cell's size in its state, as it declares it."""
    if cell.state_size != cell.states * cell.size:
        name = type(cell).__name__
        raise RegardError(
            f"{name} has a state of {cell.state_size} features; with states = {cell.states} and size {cell.size}, "
            f"{cell.states * cell.size} are expected.",
            where="cell",
            fix=f"Set states in the class {name} to the number of vectors in its state.",
        )
    return cell.states


def make_cell(cell: str | parts.Options, input_size: int, size: int) -> Cell:
    """The cell with this name or these options."""
    options = find("cell", cell).Options() if isinstance(cell, str) else cell
    made: Cell = options.part.build(options, input_size, size)
    return made
