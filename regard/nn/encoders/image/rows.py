"""Reading a picture row by row, as lines of signs are read (Deng, Kanervisto, Ling, Rush 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.nn.encoders.layer import RecurrentLayer
from regard.nn.packing import Packing


class RowReader(nn.Module):
    """h_rc ← [→g_rc; ←g_rc], g two GRUs along the columns c of each row r: (B, S, D) → (B, S, size).

    All rows share their weights. A row knows which it is where the values know their place (`GridPosition`); the
    published model begins each row with a state of its own to that end.
    """

    def __init__(self, grid: tuple[int, int], channels: int) -> None:
        super().__init__()
        self.grid = grid
        half = (channels + 1) // 2
        self.size = 2 * half
        self.layer = RecurrentLayer(channels, half)

    def forward(self, values: Tensor) -> Tensor:
        rows, columns = self.grid
        lines = values.reshape(-1, columns, values.shape[-1])  # (B · rows, columns, D)
        lengths = torch.full((len(lines),), columns)
        packing = Packing.of(lengths.to(lines.device), columns, lengths)
        read, _ = self.layer(packing.pack(lines), packing)
        return packing.unpack(read).reshape(len(values), rows * columns, -1)
