"""A recurrent layer on CUDA: both directions side by side, recorded as a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from regard.kernels.availability import installed
from regard.kernels.buckets import rounded
from regard.kernels.replay import outside_inference
from regard.nn.cells import GRUCell, LSTMCell, RNNCell
from regard.nn.packing import Packing
from regard.private import transforms_active

if TYPE_CHECKING:
    from regard.nn.encoders.layer import RecurrentLayer

CELLS = {RNNCell: "rnn", GRUCell: "gru", LSTMCell: "lstm"}


def knows(layer: RecurrentLayer, inputs: Tensor) -> bool:
    cell = layer.cell(0)
    return (
        inputs.is_cuda
        and type(cell) in CELLS
        and cell.kernel is not None
        and cell.weight_hh.dtype in (torch.float32, torch.float64)
        and installed("triton")
        and not torch.compiler.is_compiling()
        and not transforms_active()
    )


def run(layer: RecurrentLayer, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """As `RecurrentLayer.forward`: packed inputs (N, I) → packed outputs (N, directions·size), last (B, …)."""
    from regard.kernels.cuda.recurrence import Orders, Sweep, sweep_over

    cells = [layer.cell(direction) for direction in range(len(layer.cells))]
    cell, count = cells[0], len(packing.order)
    sweep = Sweep(
        cell=CELLS[type(cell)],  # type: ignore[arg-type]
        size=cell.size,
        directions=len(cells),
        inputs=cell.input_size,
        rows=rounded(count, 8, 4),
        steps=rounded(len(packing.starts) - 1, 16, 2),
        activation=getattr(cell, "activation", "tanh"),
        dtype=cell.weight_hh.dtype,
    )
    rows, times = packing.rows(), packing.places % packing.width
    lengths = rows.new_zeros(count).index_add_(0, rows, torch.ones_like(rows))
    index = [times * sweep.rows + rows]
    if len(cells) == 2:
        index.append((lengths.index_select(0, rows) - 1 - times) * sweep.rows + rows)
    last = lengths * sweep.rows + torch.arange(count, device=rows.device)
    weights = [weight for one in cells for weight in one.torch_weights()]
    with outside_inference():
        return sweep_over(sweep, Orders(tuple(index), last), inputs.to(sweep.dtype), layer.first, weights)
