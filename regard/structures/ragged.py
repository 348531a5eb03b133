"""What lengths do to a program: which positions count, when a prefix stops growing, where the answer stands."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.semirings import Semiring


def before_end(lengths: Tensor | None, size: int, device: torch.device) -> Tensor:
    """(..., size): whether a position is before the end of its sequence."""
    positions = torch.arange(size, device=device)
    return positions >= 0 if lengths is None else positions < lengths.unsqueeze(-1)


def advance(lengths: Tensor | None, position: int, extended: Tensor, prefix: Tensor) -> Tensor:
    """Cells (..., C) extended to a position, or as they were where the sequence has ended before it."""
    return extended if lengths is None else torch.where(position < lengths.unsqueeze(-1), extended, prefix)


def or_empty(semiring: Semiring, lengths: Tensor | None, total: Tensor) -> Tensor:
    """The total, or one for a sequence of length 0, whose only structure is the empty one."""
    return total if lengths is None else torch.where(lengths == 0, semiring.ones_like(total), total)


def pick(cells: Tensor, index: Tensor) -> Tensor:
    """cells[..., index] with an index for each batch entry: where the goal depends on the length."""
    return cells.gather(-1, index.expand(cells.shape[:-1]).unsqueeze(-1)).squeeze(-1)
