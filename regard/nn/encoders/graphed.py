"""A recurrent layer on CUDA: both directions side by side, recorded as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from regard.kernels.availability import installed
from regard.kernels.buckets import rounded
from regard.kernels.replay import outside_inference
from regard.nn.cells import GRUCell, LSTMCell, RNNCell
from regard.nn.packing import Packing, sent
from regard.private import transforms_active

if TYPE_CHECKING:
    from regard.kernels.cuda.recurrence import Orders, Sweep
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
    from regard.kernels.cuda.recurrence import Sweep, sweep_over

    cells = [layer.cell(direction) for direction in range(len(layer.cells))]
    cell, count = cells[0], len(packing.longest)
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
    (rows, times), known = packing.rows_and_times(), packing.known
    places = [times * sweep.rows + rows]
    if len(cells) == 2:
        places.append((known[rows] - 1 - times) * sweep.rows + rows)
    orders = orders_of(sweep, places, known, inputs.device)
    weights = [weight for one in cells for weight in one.torch_weights()]
    with outside_inference():
        return sweep_over(sweep, orders, inputs.to(sweep.dtype), layer.first, weights)


def orders_of(sweep: Sweep, places: Sequence[np.ndarray], known: np.ndarray, device: torch.device) -> Orders:
    """places   (N) of each direction: time·rows + row"""
    from regard.kernels.cuda.recurrence import Orders

    among_words = np.stack([d * sweep.steps * sweep.rows + place for d, place in enumerate(places)], 1)
    among_states = among_words + sweep.rows * np.arange(
        1, len(places) + 1
    )  # a row of first states before each
    last = known * sweep.rows + np.arange(len(known))
    found = sent(device, among_words, among_states, last, *places)
    return Orders(found[0].flatten(), found[1].flatten(), found[2], tuple(found[3:]))
