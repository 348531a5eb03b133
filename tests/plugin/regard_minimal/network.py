"""A network for images: a grid of means, each with learned channels."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

import regard
from regard.nn.letters import Letters, linear
from regard.parts import Count


@regard.register("network", "tiles")
class TilesNetwork(regard.nn.ImageNetwork):
    """A linear layer for each tile of the image."""

    class Options(regard.nn.ImageNetwork.Options):
        """Tiles of the image."""

        side: Count = 4
        """Of a tile, in pixels."""

    def __init__(self, canvas: tuple[int, int, int], side: int = 4) -> None:
        super().__init__()
        colors, height, width = canvas
        self.grid, self.channels, self.summary_size = (height // side, width // side), 8, 8
        self.tiles = nn.Conv2d(colors, 8, side, stride=side)

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        grid, place, places = (f"G_{at}", "ζ", "K") if at else ("G", "j", "S")
        return [
            f"{grid} = W_g * {seen} + b_g     — tiles of {options.side} × {options.side}",
            f"{summary} = Σ_{place} {grid}[{place}] / {places}     — the summary",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("tiles", "W_g", "b_g")

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.tiles(pixels)
        return features, features.mean((2, 3))
