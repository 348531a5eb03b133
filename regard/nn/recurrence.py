"""Recurrences over whole packed sequences by torch's kernels, which are cuDNN's on CUDA."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from regard.nn.cells import Cell, GRUCell, RNNCell
from regard.nn.packing import Packing


def known_to_torch(cell: Cell) -> bool:
    """Whether torch has this cell: all but the activations of an rnn that it does not know."""
    return not isinstance(cell, RNNCell) or cell.activation in ("tanh", "relu")


def run_cells(
    cells: Sequence[Cell], inputs: Tensor, packing: Packing, first: Tensor, *, training: bool
) -> tuple[Tensor, Tensor]:
    """One layer, a cell for each direction: packed inputs (N, I) and first states (directions, B, state), longest row
    first → packed outputs (N, directions·size) and last outputs (directions, B, size).
    """
    cell, first = cells[0], first.contiguous()
    weights = [weight for one in cells for weight in one.torch_weights()]
    common = (weights, True, 1, 0.0, training, len(cells) == 2)
    with warnings.catch_warnings():
        # cuDNN copies the weights into one piece at each call; they are small beside the work.
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        if isinstance(cell, GRUCell):
            return torch.gru(inputs, packing.sizes, first, *common)
        if isinstance(cell, RNNCell):
            run = torch.rnn_relu if cell.activation == "relu" else torch.rnn_tanh
            return run(inputs, packing.sizes, first, *common)
        states = [part.contiguous() for part in first.chunk(2, -1)]
        outputs, last, _ = torch.lstm(inputs, packing.sizes, states, *common)
    return outputs, last
