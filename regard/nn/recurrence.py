"""Recurrences over whole packed sequences: by torch's kernels, which are cuDNN's on CUDA, or by ours on the CPU."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.nn.cells import Cell
from regard.nn.packing import Packing


def run_cells(
    cells: Sequence[Cell], inputs: Tensor, packing: Packing, first: Tensor, *, training: bool
) -> tuple[Tensor, Tensor]:
    """One layer, a cell for each direction: packed inputs (N, I) and first states (directions, B, state), longest row
    first → packed outputs (N, directions·size) and last outputs (directions, B, size).

    The cells must have a `torch_recurrence`.
    """
    run = cells[0].torch_recurrence()
    if run is None:
        raise TypeError(f"torch has no recurrence of {type(cells[0]).__name__}")
    weights = [weight for one in cells for weight in one.torch_weights()]
    common = (weights, True, 1, 0.0, training, len(cells) == 2)
    with warnings.catch_warnings():
        # cuDNN copies the weights into one piece at each call; they are small beside the work.
        warnings.filterwarnings("ignore", "RNN module weights are not part of single contiguous chunk")
        return run(inputs, packing.sizes, first.contiguous(), *common)


def by_kernels(
    cells: Sequence[Cell], inputs: Tensor, packing: Packing, first: Tensor
) -> tuple[Tensor, Tensor]:
    """One layer on the CPU, a cell for each direction: packed inputs (N, I) and first states (B, directions·state),
    longest row first → packed outputs (N, directions·size) and last outputs (B, directions·size).

    The cells must have a `kernel`.
    """
    from regard.kernels.cpu.gates import KINDS
    from regard.kernels.cpu.recurrence import PackedRecurrence

    kind = KINDS[str(cells[0].kernel)]
    weight_ih, weight_hh, bias_ih, bias_hh = zip(*(cell.torch_weights() for cell in cells), strict=True)
    projected = nn.functional.linear(inputs, torch.cat(weight_ih), torch.cat(bias_ih))
    outputs, last = PackedRecurrence.apply(
        projected, first, torch.stack(weight_hh), torch.stack(bias_hh), packing, kind
    )
    return outputs, last
