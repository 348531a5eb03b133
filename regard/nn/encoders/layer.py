"""One recurrent layer over whole sequences, in one direction or both."""

from __future__ import annotations

from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from regard.nn.cells import Activation, Cell, CellName, GRUCell, RNNCell, Update, make_cell

First = Literal["learned", "zero"]


class RecurrentLayer(nn.Module):
    """inputs (B, S, I) → outputs (B, S, directions·size) and last states (B, directions·size).

    The backward direction starts at each row's own last position, so padding is never read; outputs are zero there.
    The weights live in one `Cell` for each direction.
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
        self.size, self.cell_name = size, cell
        self.cells = nn.ModuleList(
            make_cell(cell, input_size, size, activation=activation, update=update)
            for _ in range(2 if bidirectional else 1)
        )
        states = torch.zeros(len(self.cells), self.cell(0).state_size)
        self.first = nn.Parameter(states, requires_grad=first == "learned")

    def cell(self, direction: int) -> Cell:
        return cast(Cell, self.cells[direction])

    def forward(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        if self._known_to_torch():
            return self._by_torch(inputs, lengths)
        return self._by_cells(inputs, lengths)

    def _known_to_torch(self) -> bool:
        cell = self.cell(0)
        return not isinstance(cell, RNNCell) or cell.activation in ("tanh", "relu")

    def _weights(self) -> list[Tensor]:
        """Every direction's weights in torch's order and torch's convention for the update gate."""
        weights: list[Tensor] = []
        for direction in range(len(self.cells)):
            cell = self.cell(direction)
            tensors = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
            if isinstance(cell, GRUCell) and cell.update == "cho":
                # σ(−a) = 1 − σ(a): with its rows negated, Cho's gate is torch's.
                sign = torch.ones_like(cell.bias_ih)
                sign[self.size : 2 * self.size] = -1
                tensors = [tensor * (sign if tensor.dim() == 1 else sign[:, None]) for tensor in tensors]
            weights += tensors
        return weights

    def _by_torch(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """torch's own kernels (cuDNN on CUDA)."""
        rows, both = len(inputs), len(self.cells) == 2
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        first = self.first.unsqueeze(1).expand(-1, rows, -1).contiguous()  # (directions, B, state)
        common = (self._weights(), True, 1, 0.0, self.training, both)
        if self.cell_name == "gru":
            data, last = torch.gru(packed.data, packed.batch_sizes, first, *common)
        elif self.cell_name == "lstm":
            states = [part.contiguous() for part in first.chunk(2, -1)]
            data, last, _ = torch.lstm(packed.data, packed.batch_sizes, states, *common)
        else:
            cell = self.cell(0)
            relu = isinstance(cell, RNNCell) and cell.activation == "relu"
            run = torch.rnn_relu if relu else torch.rnn_tanh
            data, last = run(packed.data, packed.batch_sizes, first, *common)
        outputs, _ = pad_packed_sequence(
            packed._replace(data=data), batch_first=True, total_length=inputs.shape[1]
        )
        last = last.index_select(1, torch.argsort(cast(Tensor, packed.sorted_indices)))
        return outputs, last.transpose(0, 1).reshape(rows, -1)

    def _by_cells(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """One step after another: any cell, any activation."""
        places = torch.arange(inputs.shape[1], device=inputs.device)
        mask = (places < lengths[:, None]).unsqueeze(-1)  # (B, S, 1)
        outputs, lasts = [], []
        for direction in range(len(self.cells)):
            cell = self.cell(direction)
            projected = cell.project(inputs)
            state = self.first[direction].expand(len(inputs), -1)
            order = range(inputs.shape[1]) if direction == 0 else reversed(range(inputs.shape[1]))
            states: dict[int, Tensor] = {}
            for place in order:
                state = torch.where(mask[:, place], cell.advance(projected[:, place], state), state)
                states[place] = cell.output(state)
            outputs.append(torch.stack([states[place] for place in range(inputs.shape[1])], 1) * mask)
            lasts.append(cell.output(state))
        return torch.cat(outputs, -1), torch.cat(lasts, -1)
