"""One step of an LSTM on CUDA in torch's kernel: one launch instead of ten after the matrix products."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.cells import LSTMCell
from regard.nn.path import Path
from regard.parts import register
from regard.private import lstm_cell


@register("path", "lstm-step")
class LSTMStep(Path):
    """torch's kernel for CUDA: all of an LSTM's step after the matrix products."""

    serves = "lstm.advance"
    devices = ("cuda",)
    rank = 20

    def takes(self, cell: LSTMCell, projected: Tensor, state: Tensor) -> bool:
        return state.is_cuda and cell.activation == "tanh" and lstm_cell() is not None

    def why_not(self, cell: LSTMCell, projected: Tensor, state: Tensor) -> str:
        return "" if cell.activation == "tanh" else "torch's LSTM has tanh as its activation."

    def run(self, cell: LSTMCell, projected: Tensor, state: Tensor) -> Tensor:
        hidden, carry = state.chunk(2, -1)
        recurrent = nn.functional.linear(hidden, cell.weight_hh, cell.bias_hh)
        gates, run = 4 * cell.size, lstm_cell()
        assert run is not None
        rows = (projected.reshape(-1, gates), recurrent.reshape(-1, gates), carry.reshape(-1, cell.size))
        hidden, carried, _ = run(*(row.to(recurrent.dtype) for row in rows))
        return torch.cat([hidden, carried], -1).view(*carry.shape[:-1], cell.state_size)
