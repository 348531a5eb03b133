"""Networks in the style of VGG (Simonyan, Zisserman 2015): stages of 3 × 3 convolutions, max pooling between them."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from regard.nn.encoders.image.network import (
    Canvas,
    Normalise,
    PictureNetwork,
    halved,
    halvings,
    summary_of,
)
from regard.nn.encoders.image.residual import convolution


class VGG(PictureNetwork):
    """A stage of `blocks` convolutions for each of the channels, pooled until a place of the grid is `cell` pixels.

    Smaller than the published ones, and normalised, so that it learns from few pictures without
    pretraining. `summary` and `size` as in `ResidualNetwork`.
    """

    def __init__(
        self,
        canvas: Canvas,
        *,
        channels: Sequence[int] = (16, 32, 64),
        blocks: int = 1,
        cell: int = 8,
        normalise: Normalise = "place",
        summary: str = "mean",
        size: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        colours, height, width = canvas
        times = halvings(cell, len(channels))
        self.channels = channels[-1]
        self.grid = (halved(height, times), halved(width, times))
        layers: list[nn.Module] = []
        below = colours
        for stage, above in enumerate(channels):
            for _ in range(blocks):
                layers += [convolution(below, above, normalise=normalise), nn.ReLU()]
                below = above
            if stage < times:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)
        self.summary = summary_of(summary, self.channels, self.grid, size, dropout=dropout)
        self.summary_size = self.summary.size

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.layers(pixels)
        return features, self.summary(features)


STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Channels of the 13 convolutions of VGG-16 (configuration D)."""


class VGG16(PictureNetwork):
    """VGG-16 as published, without its last layer.

    At 224 × 224 pixels the grid is conv5_3 before its pooling: 14 × 14 = 196 places of 512 features, as in Show, Attend
    and Tell. The summary is fc7: relu(W₇ relu(W₆ pool5 + b₆) + b₇), 4096 features, with dropout of one half.
    """

    channels = 512
    summary_size = 4096

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        colours, height, width = canvas
        self.grid = (halved(height, 4), halved(width, 4))
        layers: list[nn.Module] = []
        below = colours
        for stage, widths in enumerate(STAGES):
            if stage:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
            for above in widths:
                layer = nn.Conv2d(below, above, 3, padding=1)
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
                layers += [layer, nn.ReLU()]
                below = above
        self.layers = nn.Sequential(*layers)
        pooled = halved(height, 5) * halved(width, 5)
        self.connected = nn.Sequential(
            nn.MaxPool2d(2, ceil_mode=True),
            nn.Flatten(),
            nn.Linear(512 * pooled, 4096),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(4096, 4096),
            nn.ReLU(),
            nn.Dropout(0.5),
        )

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.layers(pixels)
        return features, self.connected(features)
