"""What every network that sees pictures has in common."""

from __future__ import annotations

import math
from typing import Literal

from torch import Tensor, nn

from regard.errors import RegardError

Normalise = Literal["place", "batch"]
Canvas = tuple[int, int, int]
"""C, H, W: channels, height and width of the pictures, in pixels."""


class PictureNetwork(nn.Module):
    """Pixels (B, C, H, W), normalised → features (B, channels, rows, columns) and a summary (B, summary_size).

    grid        rows and columns of the features
    mean, std   of a pixel between 0 and 1, for each channel: the pixels come as (x / 255 − mean) / std
    """

    channels: int
    summary_size: int
    grid: tuple[int, int]
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.25,)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


def halvings(cell: int, stages: int) -> int:
    """How often the sides are halved, so that a place of the grid is `cell` pixels wide; `stages` times at most."""
    times = cell.bit_length() - 1
    if cell < 1 or cell != 1 << times:
        raise RegardError(
            f"A cell of the grid is a power of two pixels wide; received {cell}.", fix="Choose 4, 8 or 16."
        )
    if times > stages:
        raise RegardError(
            f"Cells of {cell} pixels take {times} halvings; the network can make {stages}.",
            fix=f"Choose cells of {1 << stages} pixels or fewer, or more channels.",
        )
    return times


def halved(side: int, times: int) -> int:
    """A side after so many halvings, each rounded up."""
    return math.ceil(side / (1 << times))


class Mean(nn.Module):
    """The mean over the grid: (B, D, rows, columns) → (B, D); what is where is lost."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.size = channels

    def forward(self, features: Tensor) -> Tensor:
        return features.mean((2, 3))


class Connected(nn.Module):
    """relu(W x + b), x all features of the grid: (B, D, rows, columns) → (B, size); it knows what is where."""

    def __init__(self, channels: int, grid: tuple[int, int], size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.layer = nn.Linear(channels * grid[0] * grid[1], size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.relu(self.layer(self.dropout(features.flatten(1))))


def summary_of(
    kind: str, channels: int, grid: tuple[int, int], size: int, *, dropout: float = 0.0
) -> Mean | Connected:
    """The summary of that name, `mean` or `connected`."""
    return Mean(channels) if kind == "mean" else Connected(channels, grid, size, dropout=dropout)
