"""The mean positions of attention weights, and the differences between them."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.nn.memory import Memory


def axes(grid: tuple[int, int] | None) -> int:
    """Number of coordinates of a position: x and y in a grid, else one along the sequence."""
    return 1 if grid is None else 2


def mean_position(weights: Tensor, memory: Memory) -> Tensor:
    """weights (B, K, S) → (B, (2K − 1) A): the mean position of each look, then its offset from the one
    before.

    Coordinates go from −1 to 1 along each of the A axes.
    """
    places = weights @ _places(memory).to(weights.dtype)  # (B, K, A)
    moved = places[:, 1:] - places[:, :-1]
    return torch.cat([places, moved], 1).flatten(1)


def _places(memory: Memory) -> Tensor:
    """(B or 1, S, A): the centers of the positions."""
    if memory.shape is not None:
        rows, columns = (middles(count, memory.mask.device) for count in memory.shape)
        y, x = torch.meshgrid(rows, columns, indexing="ij")
        return torch.stack([x, y], -1).reshape(1, -1, 2)
    count = memory.mask.sum(1).clamp(min=1)[:, None]
    along = torch.arange(memory.mask.shape[1], device=memory.mask.device)
    return ((along + 0.5) / count * 2 - 1).unsqueeze(-1)


def middles(count: int, device: torch.device | None = None) -> Tensor:
    """The centers of `count` equal parts of −1 … 1."""
    return (torch.arange(count, device=device) + 0.5) / count * 2 - 1
