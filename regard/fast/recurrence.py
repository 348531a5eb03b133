"""The kernels of recurrent cells: which of them computes a cell, and a layer on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.nn.cells import Cell, GRUCell, LSTMCell, RNNCell
from regard.nn.packing import Packing
from regard.nn.path import Replaces
from regard.nn.recurrence import Weights
from regard.structures.kernels.availability import within_reach

CELLS = Replaces(GRUCell, LSTMCell, RNNCell)
NO_KERNEL = "The cell has no kernel, or was changed."


def kernel_of(cells: Sequence[Cell]) -> str | None:
    """The recurrence that computes exactly all of these cells, if there is one."""
    kernel = _kernel(cells[0])
    return kernel if all(_kernel(cell) == kernel for cell in cells[1:]) else None


def _kernel(cell: Any) -> str | None:
    kind = CELLS.kind(cell)
    if kind is None:
        return None
    if kind is RNNCell:
        return str(cell.activation)
    if kind is LSTMCell:
        return "lstm" if cell.activation == "tanh" else None
    return "gru" if cell.as_torch else None


def knows_on_cpu(cells: Sequence[Cell], inputs: Tensor, rows: int) -> bool:
    """Whether the kernels compute these cells, and these are tensors on the CPU."""
    return (
        inputs.is_cpu and kernel_of(cells) is not None and within_reach(inputs, cells[0].weight_hh, rows=rows)
    )


def run_on_cpu(
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
    from regard.fast.cpu.layout import KINDS
    from regard.fast.cpu.recurrence import PackedRecurrence

    kind = KINDS[str(kernel_of(cells))]
    taken = [cell.torch_weights() for cell in cells] if weights is None else weights
    weight_ih, weight_hh, bias_ih, bias_hh = zip(*taken, strict=True)
    projected = nn.functional.linear(inputs, torch.cat(weight_ih), torch.cat(bias_ih))
    outputs, last = PackedRecurrence.apply(
        projected, first, torch.stack(weight_hh), torch.stack(bias_hh), packing, kind
    )
    return outputs, last
