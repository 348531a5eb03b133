"""A recurrent cell that is deep within a step (Pascanu, Gulcehre, Cho and Bengio 2014).

    x ← f(A x + a)                                        `input` layers before the recurrence
    z_1 = f(W x + b + U m + c),  z_k = f(T_k z_{k−1} + t_k)   `transition` layers from one state m to the next
    m' = z_K,   with `skip`  m' = f(T_K z_{K−1} + t_K + R m)  a skip connection past these layers
    h' = f(O m' + o)                                      `output` layers between the state and the output

A deep transition makes the path of a gradient through time K times as long; the skip connection shortens it again.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from regard.nn.cells.cell import ACTIVATIONS, Activation, Cell, squashed
from regard.nn.letters import Letters, gate_letters, linear
from regard.parts import Depth, register

Layers = Annotated[int, Field(ge=0, le=1000)]


@register("cell", "deep")
class DeepCell(Cell):
    """The state is [h; m]: h is the output, m the recurrent state."""

    class Options(Cell.Options):
        """Several layers within a step: before, in and after the recurrence (Pascanu 2014)."""

        input: Layers = 0
        """Layers between the input and the recurrence; for encoders only."""
        transition: Depth = 2
        """Layers from one state to the next."""
        output: Layers = 0
        """Layers between the state and the cell's output."""
        skip: bool = False
        """Add a skip connection from the state past the layers of the transition."""
        activation: Activation = "tanh"
        """Activation function of all layers."""

        @model_validator(mode="after")
        def _something_to_skip(self) -> Any:
            if self.skip and self.transition == 1:
                raise ValueError(
                    "skip has no effect: it bypasses the transition layers after the first, and there is only one."
                )
            return self

    projects = True
    states = 2

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        input: int = 0,
        transition: int = 2,
        output: int = 0,
        skip: bool = False,
        activation: Activation = "tanh",
    ) -> None:
        super().__init__(input_size, size)
        self.activation = activation
        self.before = nn.ModuleList(_linear(input_size, input_size) for _ in range(input))
        self.within = nn.ModuleList(_linear(size, size) for _ in range(transition - 1))
        self.after = nn.ModuleList(_linear(size, size) for _ in range(output))
        self.skip = _linear(size, size, bias=False) if skip else None

    @classmethod
    def linear_input(cls, options: Any) -> bool:
        return int(options.input) == 0

    @classmethod
    def equations(cls, options: Any, mark: str) -> list[str]:
        def layered(inside: str, letter: str, layers: range, more: str = "") -> str:
            for layer in layers:
                last = more if layer == layers[-1] else ""
                bias = letter.lower()
                inside = squashed(
                    options.activation, f"{letter}_{layer}{mark} {inside} + {bias}_{layer}{mark}{last}"
                )
            return inside

        read = layered("x", "A", range(1, options.input + 1))
        first = squashed(options.activation, f"W_h{mark} {read} + b_h{mark} + U_h{mark} m + c_h{mark}")
        skip = f" + R_{mark} m" if options.skip else ""
        return [
            f"deep_{mark}(h, m, x) = ({layered('m′', 'O', range(1, options.output + 1))}, m′)",
            f"    m′ = {layered(first, 'T', range(2, options.transition + 1), skip)}",
        ]

    @classmethod
    def letters(cls, options: Any, mark: str) -> Letters:
        found = gate_letters("h", mark) | {"skip.weight": f"R_{mark}"}
        pieces = {"before": ("A", 1, options.input), "within": ("T", 2, options.transition - 1)}
        for path, (letter, first, count) in {**pieces, "after": ("O", 1, options.output)}.items():
            for number in range(count):
                below = f"{number + first}{mark}"
                found |= linear(f"{path}.{number}", f"{letter}_{below}", f"{letter.lower()}_{below}")
        return found

    def project(self, inputs: Tensor) -> Tensor:
        return super().project(self._through(self.before, inputs))

    def advance(self, projected: Tensor, state: Tensor) -> Tensor:
        held, squash = state[..., self.size :], ACTIVATIONS[self.activation]
        reached = squash(projected + nn.functional.linear(held, self.weight_hh, self.bias_hh))
        for layer, within in enumerate(self.within, 1):
            more = self.skip(held) if self.skip is not None and layer == len(self.within) else 0.0
            reached = squash(within(reached) + more)
        return torch.cat([self._through(self.after, reached), reached], -1)

    def _through(self, layers: nn.ModuleList, vectors: Tensor) -> Tensor:
        for layer in layers:
            vectors = ACTIVATIONS[self.activation](layer(vectors))
        return vectors


def _linear(input_size: int, size: int, *, bias: bool = True) -> nn.Linear:
    made, bound = nn.Linear(input_size, size, bias=bias), 1 / math.sqrt(size)
    for parameter in made.parameters():
        nn.init.uniform_(parameter, -bound, bound)
    return made
