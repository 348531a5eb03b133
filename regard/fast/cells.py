"""Which recurrence of the kernels computes a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.nn.cells import Cell, GRUCell, LSTMCell, RNNCell
from regard.nn.path import Replaces

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
