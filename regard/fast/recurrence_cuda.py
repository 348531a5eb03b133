"""A recurrent layer over packed sequences on CUDA: both directions in parallel, captured as a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from regard.fast.recording.buckets import rounded_rows, rounded_steps
from regard.fast.recording.replay import outside_inference
from regard.fast.recurrence import kernel_of
from regard.nn.cells import Cell
from regard.nn.cells.cell import ACTIVATIONS
from regard.nn.packing import Packing, sent
from regard.structures.kernels.availability import triton_takes

if TYPE_CHECKING:
    from regard.fast.cuda.recurrence import Orders, Sweep

CELLS = {"gru": "gru", "lstm": "lstm", **dict.fromkeys(ACTIVATIONS, "rnn")}
"""The cells of the kernels, by `kernel_of`."""


def knows(cells: Sequence[Cell], inputs: Tensor) -> bool:
    return triton_takes(inputs) and has_kernels(cells)


def has_kernels(cells: Sequence[Cell]) -> bool:
    """`knows`, regardless of the device."""
    return kernel_of(cells) in CELLS and cells[0].weight_hh.dtype in (torch.float32, torch.float64)


def run(cells: Sequence[Cell], first: Tensor, inputs: Tensor, packing: Packing) -> tuple[Tensor, Tensor]:
    """Run a cell for each direction: first states (D, state), or (D, B, state) for each row, and packed
    inputs (N, I) → packed outputs (N, D·size) and the last outputs (B, D·size)."""
    sweep = sweep_of(cells, len(packing.longest), len(packing.starts) - 1)
    (rows, times), known = packing.rows_and_times(), packing.known
    places = [times * sweep.rows + rows]
    if sweep.directions == 2:
        places.append((known[rows] - 1 - times) * sweep.rows + rows)
    with outside_inference():
        return run_in(sweep, orders_of(sweep, places, known, inputs.device), cells, first, inputs)


def run_forward(cell: Cell, first: Tensor, inputs: Tensor, packing: Packing) -> Tensor:
    """Run one direction from first states (B, state): outputs (N, size) only. The packing caches the indices,
    so that the call can be captured in a graph."""
    from regard.fast.cuda.recurrence import Orders

    sweep = sweep_of([cell], len(packing.longest), len(packing.starts) - 1)
    index = packing.among_times(sweep.rows)
    orders = Orders(index, index + sweep.rows, index[:0], (index,))
    with outside_inference():
        return run_in(sweep, orders, [cell], first.unsqueeze(0), inputs)[0]


def sweep_of(cells: Sequence[Cell], rows: int, steps: int) -> Sweep:
    """The computation, with sizes rounded up so that other batches share it."""
    from regard.fast.cuda.recurrence import Sweep

    cell = cells[0]
    return Sweep(
        cell=CELLS[str(kernel_of([cell]))],  # type: ignore[arg-type]
        size=cell.size,
        directions=len(cells),
        inputs=cell.input_size,
        rows=rounded_rows(rows),
        steps=rounded_steps(steps),
        activation=getattr(cell, "activation", "tanh"),
        dtype=cell.weight_hh.dtype,
        narrow=_narrow(cell),
    )


def _narrow(cell: Cell) -> bool:
    """Whether autocast is bfloat16 and the sizes suit tensor cores."""
    return (
        torch.is_autocast_enabled("cuda")
        and torch.get_autocast_dtype("cuda") == torch.bfloat16
        and cell.weight_hh.dtype == torch.float32
        and cell.size % 8 == 0
        and cell.input_size % 8 == 0
    )


def run_in(
    sweep: Sweep, orders: Orders, cells: Sequence[Cell], first: Tensor, inputs: Tensor
) -> tuple[Tensor, Tensor]:
    from regard.fast.cuda.recurrence import sweep_over

    weights = [weight for one in cells for weight in one.torch_weights()]
    inputs = inputs if sweep.narrow else inputs.to(sweep.dtype)
    return sweep_over(sweep, orders, inputs, first.to(sweep.dtype), weights)


def every_position(sweep: Sweep, lengths: Tensor) -> Orders:
    """All positions of the sweep's rows, row by row, padding last; lengths (rows) on the device."""
    from regard.fast.cuda.recurrence import Orders

    device, directions = lengths.device, sweep.directions
    time, row = torch.arange(sweep.steps, device=device), torch.arange(sweep.rows, device=device)
    ends = lengths[:, None]
    times = [time.expand(sweep.rows, -1), torch.where(time < ends, ends - 1 - time, time)][:directions]
    places = [(one * sweep.rows + row[:, None]).flatten() for one in times]
    direction = torch.arange(directions, device=device)
    words = torch.stack(places, 1) + direction * (sweep.steps * sweep.rows)
    states = words + (direction + 1) * sweep.rows  # a row of first states precedes each direction
    return Orders(words.flatten(), states.flatten(), lengths * sweep.rows + row, tuple(places))


def orders_of(sweep: Sweep, places: Sequence[np.ndarray], known: np.ndarray, device: torch.device) -> Orders:
    """places   (N) of each direction: time·rows + row"""
    from regard.fast.cuda.recurrence import Orders

    among_words = np.stack([d * sweep.steps * sweep.rows + place for d, place in enumerate(places)], 1)
    among_states = among_words + sweep.rows * np.arange(
        1, len(places) + 1
    )  # a row of first states precedes each direction
    last = known * sweep.rows + np.arange(len(known))
    found = sent(device, among_words, among_states, last, *places)
    return Orders(found[0].flatten(), found[1].flatten(), found[2], tuple(found[3:]))
