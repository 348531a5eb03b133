"""Stack: cells on top of each other, one step."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from regard.nn.cells import Cell, make_cell
from regard.parts import Options


class Stack(nn.Module):
    """Layer l reads the output of layer l − 1; with `residual` it adds it to its own, from the second layer on."""

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

    def cell(self, layer: int) -> Cell:
        return cast(Cell, self.cells[layer])

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
        """What the highest cell holds: the query when looking before the step."""
        return self.cell(len(self.cells) - 1).output(states[-1])
