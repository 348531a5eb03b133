"""Stack: stacked cells, for one step or a whole output, and their equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from regard.nn.cells import Cell, make_cell
from regard.nn.letters import Letters, under
from regard.nn.packing import Packing
from regard.nn.path import faster
from regard.nn.recurrence import recurrence_of, run_cells
from regard.parts import Options

CARRIED = "n"
"""The letter for what a cell carries beside the state s, in equations."""


class Stack(nn.Module):
    """Layer l reads the output of layer l − 1. With `residual`, layers from the second on add their input to
    their output."""

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        cell: str | Options = "gru",
        layers: int = 1,
        dropout: float = 0.0,
        residual: bool = False,
    ) -> None:
        super().__init__()
        self.size, self.residual = size, residual
        self.cells = nn.ModuleList(
            make_cell(cell, input_size if index == 0 else size, size) for index in range(layers)
        )
        self.dropout = nn.Dropout(dropout)

    @property
    def states(self) -> int:
        """Features of the states of all layers."""
        return len(self.cells) * self.cell(0).state_size

    def cell(self, layer: int) -> Cell:
        return cast(Cell, self.cells[layer])

    def each(self) -> list[Cell]:
        """The cells of all layers."""
        return [self.cell(layer) for layer in range(len(self.cells))]

    def forward(self, projected: Tensor, states: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, ...]]:
        """The first layer's projected input (…, G) and all states → the output (…, size) and the new states."""
        cell = self.cell(0)
        state = cell.advance(projected, states[0])
        output, advanced = cell.output(state), [state]
        for index in range(1, len(self.cells)):
            cell = self.cell(index)
            below = self.dropout(output)
            state = cell.advance(cell.project(below), states[index])
            output = cell.output(state) + below if self.residual else cell.output(state)
            advanced.append(state)
        return output, tuple(advanced)

    def top(self, states: tuple[Tensor, ...]) -> Tensor:
        """The output of the top cell: the query, if the decoder looks before the step."""
        return self.cell(len(self.cells) - 1).output(states[-1])

    def run(self, inputs: Tensor, first: Sequence[Tensor], packing: Packing) -> Tensor:
        """A whole output, if no context enters the recurrence: packed inputs (N, I) and first states
        (B, state) of each layer → packed outputs (N, size)."""
        for index, state in enumerate(first):
            below = inputs if index == 0 else self.dropout(inputs)
            inputs = self._layer(self.cell(index), below, state, packing)
            if index > 0 and self.residual:
                inputs = inputs + below
        return inputs

    def _layer(self, cell: Cell, inputs: Tensor, first: Tensor, packing: Packing) -> Tensor:
        """One layer, from the first states (B, state) of the rows."""
        found: Tensor | None = faster("stack.layer", inputs.device, cell, inputs, first, packing)
        if found is not None:
            return found
        first = first.index_select(0, packing.order)
        if recurrence_of([cell]) is not None:
            return run_cells([cell], inputs, packing, first.unsqueeze(0), training=self.training)[0]
        projected, state, reached = cell.project(inputs), first, []
        for low, high in packing.steps:
            state = cell.advance(projected[low:high], state[: high - low])
            reached.append(cell.output(state))
        return torch.cat(reached)


# Equations.


def state_symbol(options: Any, layer: int, place: str) -> str:
    """s_t, or s_{1,0} with several layers."""
    if options.layers > 1:
        return f"s_{layer}t" if place == "t" else f"s_{{{layer},{place}}}"
    return f"s_{place}" if len(place) == 1 else f"s_{{{place}}}"


def step_lines(options: Any, inputs: str, now: str = "t", before: str = "t−1") -> tuple[list[str], str]:
    """Equations of the recurrence, and the output of the top layer: with `residual` the sum of all."""
    step = options.cell.part.written_step
    found, below, output = [], inputs, ""
    for layer in range(1, options.layers + 1):
        state, mark = state_symbol(options, layer, now), f"y{layer}" if options.layers > 1 else "y"
        found.append(step(options.cell, mark, state, state_symbol(options, layer, before), below, CARRIED))
        output = f"{output} + {state}" if options.residual and layer > 1 else state
        below = output
    return found, output


def cell_lines(options: Any) -> list[str]:
    """Equations of the cell of each layer."""
    marks = ["y"] if options.layers == 1 else [f"y{layer}" for layer in range(1, options.layers + 1)]
    return [line for mark in marks for line in options.cell.part.equations(options.cell, mark)]


def stack_letters(options: Any) -> Letters:
    """The letters of the cell of each layer."""
    found: Letters = {}
    for number in range(options.layers):
        mark = f"y{number + 1}" if options.layers > 1 else "y"
        found |= under(f"stack.cells.{number}", options.cell.part.letters(options.cell, mark))
    return found
