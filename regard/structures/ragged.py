"""Sequences of different lengths in one program: masks, the end of the recursion, and the goal cell."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.semirings import Semiring


def before_end(lengths: Tensor | None, size: int, device: torch.device) -> Tensor:
    """(..., size): whether a position is before the end of its sequence."""
    positions = torch.arange(size, device=device)
    return positions >= 0 if lengths is None else positions < lengths.unsqueeze(-1)


def advance(lengths: Tensor | None, position: int, extended: Tensor, prefix: Tensor) -> Tensor:
    """The extended cells (..., C), or the previous ones if the sequence ends before `position`."""
    return extended if lengths is None else torch.where(position < lengths.unsqueeze(-1), extended, prefix)


def or_empty(semiring: Semiring, lengths: Tensor | None, total: Tensor) -> Tensor:
    """The total, or the semiring's one for a sequence of length 0, whose only structure is empty."""
    return total if lengths is None else torch.where(lengths == 0, semiring.ones_like(total), total)


def pick(cells: Tensor, index: Tensor) -> Tensor:
    """cells[..., index] with an index for each batch entry, for goals that depend on the length."""
    return cells.gather(-1, index.expand(cells.shape[:-1]).unsqueeze(-1)).squeeze(-1)
