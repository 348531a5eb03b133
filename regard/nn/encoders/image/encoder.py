"""The image encoder: a picture becomes a grid of places to look at."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.data.perceived import Pictures
from regard.nn.encoders.image.network import PictureNetwork
from regard.nn.encoders.image.position import GridPosition, Position
from regard.nn.encoders.image.rows import Rows
from regard.nn.memory import Memory


class ImageEncoder(nn.Module):
    """Pictures → Memory with layout grid: values h_s, s = row · columns + column, and the network's summary.

    position   whether a value knows where it is (`GridPosition`)
    rows       whether it knows what stands to its left and right (`Rows`)
    dropout    of the values' features
    """

    gain: float = 1.0
    mean: Tensor
    std: Tensor

    def __init__(
        self,
        network: PictureNetwork,
        *,
        position: Position = "none",
        rows: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.network = network
        self.position = GridPosition(position, network.grid, network.channels)
        self.rows = Rows(network.grid, self.position.size) if rows else None
        self.dropout = nn.Dropout(dropout)
        self.value_size = self.position.size if self.rows is None else self.rows.size
        self.summary_size = network.summary_size
        for name, numbers in (("mean", network.mean), ("std", network.std)):
            self.register_buffer(name, torch.tensor(numbers).reshape(-1, 1, 1) * 255, persistent=False)

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the memory."""
        return self.network.grid

    def forward(self, pictures: Pictures) -> Memory:
        pixels = (pictures.pixels.to(self.mean.dtype) - self.mean) / self.std  # (B, C, H, W)
        # channels last: convolutions are faster, and the values below lie in order without a copy
        features, summary = self.network(pixels.contiguous(memory_format=torch.channels_last))
        values = self.position(self.dropout(features.flatten(2).transpose(1, 2)))  # (B, S, D)
        if self.rows is not None:
            values = self.rows(values)
        mask = torch.ones(values.shape[:2], dtype=torch.bool, device=values.device)
        return Memory(values, mask, summary, layout="grid", shape=self.network.grid)

    def positions(self, pictures: Pictures) -> list[list[str]]:
        """The names of the places of each row: "3,5" is row 3, column 5 of the grid, from 0."""
        rows, columns = self.network.grid
        names = [f"{row},{column}" for row in range(rows) for column in range(columns)]
        return [list(names) for _ in range(len(pictures.pixels))]
