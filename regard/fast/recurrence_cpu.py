"""A recurrent layer over packed sequences on the CPU, in our kernels."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from regard.fast.cells import kernel_of
from regard.nn.cells import Cell
from regard.nn.packing import Packing
from regard.nn.recurrence import Weights
from regard.structures.kernels.availability import within_reach


def knows(cells: Sequence[Cell], inputs: Tensor, rows: int) -> bool:
    """Whether the kernels compute these cells, and these are tensors on the CPU."""
    return (
        inputs.is_cpu and kernel_of(cells) is not None and within_reach(inputs, cells[0].weight_hh, rows=rows)
    )


def run(
    cells: Sequence[Cell],
    inputs: Tensor,
    packing: Packing,
    first: Tensor,
    weights: Sequence[Weights] | None = None,
) -> tuple[Tensor, Tensor]:
    """Run one layer on the CPU with a cell for each direction: packed inputs (N, I) and first states
    (B, directions·state), longest row first → packed outputs (N, directions·size) and last states
    (B, directions·state).

    weights   the weights to use for each cell; default: its own

    The cells must have a `kernel_of`.
    """
    from regard.fast.cpu.gates import KINDS
    from regard.fast.cpu.recurrence import PackedRecurrence

    kind = KINDS[str(kernel_of(cells))]
    taken = [cell.torch_weights() for cell in cells] if weights is None else weights
    weight_ih, weight_hh, bias_ih, bias_hh = zip(*taken, strict=True)
    projected = nn.functional.linear(inputs, torch.cat(weight_ih), torch.cat(bias_ih))
    outputs, last = PackedRecurrence.apply(
        projected, first, torch.stack(weight_hh), torch.stack(bias_hh), packing, kind
    )
    return outputs, last
