"""The place of a position in the image, as features."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from regard.nn.mean_position import middles

Position = Literal["none", "coordinates", "learned"]


class GridPosition(nn.Module):
    """Values (B, S, D) of a grid, S = rows × columns, row by row → values that encode their position.

        none          h
        coordinates   [h; x; y], x and y from −1 (left, top) to 1
        learned       h + r[row] + c[column]

    A convolution sees its surroundings but not its place. Without this, attention cannot look for the
    leftmost object.
    """

    coordinates: Tensor | None

    def __init__(self, kind: Position, grid: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.kind, self.grid = kind, grid
        self.size = channels + 2 if kind == "coordinates" else channels
        rows, columns = grid
        placed = None
        if kind == "coordinates":
            y, x = torch.meshgrid(middles(rows), middles(columns), indexing="ij")
            placed = torch.stack([x, y], -1).reshape(rows * columns, 2)
        self.register_buffer("coordinates", placed, persistent=False)
        if kind == "learned":
            self.rows = nn.Parameter(torch.randn(rows, 1, channels) * 0.1)
            self.columns = nn.Parameter(torch.randn(1, columns, channels) * 0.1)

    def forward(self, values: Tensor) -> Tensor:
        if self.coordinates is not None:
            return torch.cat([values, self.coordinates.to(values.dtype).expand(values.shape[0], -1, -1)], -1)
        if self.kind == "learned":
            return values + (self.rows + self.columns).flatten(0, 1)
        return values
