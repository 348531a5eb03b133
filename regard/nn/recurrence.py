"""Recurrences over whole packed sequences by torch's kernels (cuDNN's on CUDA)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from regard.nn.cells import Cell
from regard.nn.cells.cell import TorchRecurrence
from regard.nn.packing import Packing
from regard.parts import Mistakes
from regard.private import transforms_active

Weights = tuple[Tensor, Tensor, Tensor, Tensor]
"""W, U, b, c of a cell, as `Cell.torch_weights` gives them."""


def recurrence_of(cells: Sequence[Cell]) -> TorchRecurrence | None:
    """torch's recurrence of all of these cells, if there is one. It takes the number of active rows as numbers in
    memory, which a transform of `torch.func` hides."""
    if not torch.compiler.is_compiling() and transforms_active():
        return None
    run = cells[0].torch_recurrence()
    return run if all(cell.torch_recurrence() is run for cell in cells[1:]) else None


def run_cells(
    cells: Sequence[Cell], inputs: Tensor, packing: Packing, first: Tensor, *, training: bool
) -> tuple[Tensor, Tensor]:
    """Run one layer with a cell for each direction: packed inputs (N, I) and first states
    (directions, B, state), longest row first → packed outputs (N, directions·size) and last states
    (directions, B, state).

    The cells must have a `recurrence_of`.
    """
    run = recurrence_of(cells)
    if run is None:
        raise TypeError(f"torch has no recurrence of {type(cells[0]).__name__}")
    weights = [weight for one in cells for weight in one.torch_weights()]
    common = (weights, True, 1, 0.0, _kept(training), len(cells) == 2)
    with _quiet():
        return run(inputs, packing.sizes, first.contiguous(), *common)


def run_layers(
    cells: Sequence[Cell],
    weights: Sequence[Weights],
    inputs: Tensor,
    first: Tensor,
    *,
    dropout: float,
    training: bool,
) -> tuple[Tensor, Tensor]:
    """Run stacked layers in one call: inputs (T, B, I) of rows of equal length and first states
    (layers, B, state) → outputs (T, B, size) of the top layer and last states (layers, B, state).

    weights   the weights to use for each cell, which need not be its own
    dropout   dropout between the layers

    The cells must have a `recurrence_of` and the same size.
    """
    run = recurrence_of(cells)
    if run is None:
        raise TypeError(f"torch has no recurrence of {type(cells[0]).__name__}")
    flat = [weight for one in weights for weight in one]
    dropout = dropout if training else 0.0
    with _quiet():
        return run(inputs, None, first.contiguous(), flat, True, len(cells), dropout, _kept(training), False)


def _kept(training: bool) -> bool:
    """What to tell torch as its training mode. cuDNN keeps what a backward pass needs only in that mode, which
    without dropout computes the same; gradients of a model in evaluation mode need it too."""
    return training or torch.is_grad_enabled()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence torch's warning that cuDNN copies the weights at each call: the copies are cheap."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        yield


def check_residual(options: Any, mistakes: Mistakes) -> None:
    """Require a second layer for `residual`."""
    if options.residual and options.layers == 1:
        mistakes.add(
            "residual has no effect: it needs at least two layers, and there is only one.",
            "residual",
            fix="Add layers, or leave residual out.",
        )
