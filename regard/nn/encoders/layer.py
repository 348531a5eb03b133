"""One recurrent layer over whole packed sequences, in one direction or both."""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn

from regard.kernels.availability import within_reach
from regard.nn.cells import Activation, Cell, CellName, GRUCell, Update, make_cell
from regard.nn.packing import Packing
from regard.nn.recurrence import known_to_torch, run_cells

First = Literal["learned", "zero"]


class RecurrentLayer(nn.Module):
    """Packed inputs (N, I) → packed outputs (N, directions·size) and the last states (B, directions·size) of the rows.

    The backward direction starts at each row's own last position. The weights live in one `Cell` for each direction;
    they are run by torch's kernels (cuDNN on CUDA), for a GRU on the processor by our own, and cell by cell for the
    activations torch does not know. All give the same numbers.
    """

    def __init__(
        self,
        input_size: int,
        size: int,
        *,
        cell: CellName = "gru",
        bidirectional: bool = True,
        activation: Activation = "tanh",
        update: Update = "torch",
        first: First = "learned",
    ) -> None:
        super().__init__()
        self.cells = nn.ModuleList(
            make_cell(cell, input_size, size, activation=activation, update=update)
            for _ in range(2 if bidirectional else 1)
        )
        states = torch.zeros(len(self.cells), self.cell(0).state_size)
        self.first = nn.Parameter(states, requires_grad=first == "learned")

    def cell(self, direction: int) -> Cell:
        return cast(Cell, self.cells[direction])

    def forward(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        cell = self.cell(0)
        if isinstance(cell, GRUCell) and within_reach(inputs, cell.weight_hh):
            return self.by_kernels(inputs, packing)
        return (self.by_torch if known_to_torch(cell) else self.by_cells)(inputs, packing)

    def by_torch(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        rows = len(packing.order)
        first = self.first.unsqueeze(1).expand(-1, rows, -1)  # (directions, B, state)
        cells = [self.cell(direction) for direction in range(len(self.cells))]
        outputs, last = run_cells(cells, inputs, packing, first, training=self.training)
        last = last.index_select(1, packing.back)
        return outputs, last.transpose(0, 1).reshape(rows, -1)

    def by_kernels(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        from regard.kernels.cpu.recurrence import PackedGRU

        weights = zip(*(cast(Cell, cell).torch_weights() for cell in self.cells), strict=True)
        weight_ih, weight_hh, bias_ih, bias_hh = weights
        projected = nn.functional.linear(inputs, torch.cat(weight_ih), torch.cat(bias_ih))
        first = self.first.flatten().expand(len(packing.order), -1)
        outputs, last = PackedGRU.apply(
            projected, first, torch.stack(weight_hh), torch.stack(bias_hh), packing
        )
        return outputs, last.index_select(0, packing.back)

    def by_cells(self, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
        outputs, lasts = [], []
        for direction in range(len(self.cells)):
            cell = self.cell(direction)
            projected = cell.project(inputs)
            state = self.first[direction].expand(len(packing.order), -1)
            reached = []
            for low, high in packing.steps if direction == 0 else packing.steps[::-1]:
                advanced = cell.advance(projected[low:high], state[: high - low])
                state = torch.cat([advanced, state[high - low :]])
                reached.append(cell.output(advanced))
            outputs.append(torch.cat(reached if direction == 0 else reached[::-1]))
            lasts.append(cell.output(state))
        return torch.cat(outputs, -1), torch.cat(lasts, -1).index_select(0, packing.back)
