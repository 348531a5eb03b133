"""Networks in the style of VGG (Simonyan, Zisserman 2015): stages of 3 × 3 convolutions, max pooling between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from regard.nn.encoders.image.network import (
    Canvas,
    Normalize,
    StagedNetwork,
    halved,
    halvings,
    summary_line,
    summary_of,
)
from regard.nn.encoders.image.resnet import convolution
from regard.parts import register


@register("network", "vgg")
class VGG(StagedNetwork):
    """A stage of `blocks` convolutions for each of the channels, pooled until a grid cell is `stride` pixels wide.

    Smaller than the published ones, and normalized, so that it learns from few pictures without
    pretraining. `connected` as in `ResidualNetwork`.
    """

    @classmethod
    def board(cls, options: Any) -> list[str]:
        channels = ", ".join(map(str, options.channels))
        return [
            f"x ← relu(W * x) with W of 3 × 3; stages of {channels} channels, {options.blocks} each, max pooling "
            "between",
            f"h = the last stage: S grid cells of {options.stride} × {options.stride} pixels, "
            f"{options.channels[-1]} features each; summary {summary_line(options.connected)}",
        ]

    def __init__(
        self,
        canvas: Canvas,
        *,
        channels: Sequence[int] = (16, 32, 64),
        blocks: int = 1,
        stride: int = 8,
        normalize: Normalize = "place",
        connected: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        colours, height, width = canvas
        times = halvings(stride, len(channels))
        self.channels = channels[-1]
        self.grid = (halved(height, times), halved(width, times))
        layers: list[nn.Module] = []
        below = colours
        for stage, above in enumerate(channels):
            for _ in range(blocks):
                layers += [convolution(below, above, normalize=normalize), nn.ReLU()]
                below = above
            if stage < times:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)
        self.summary = summary_of(connected, self.channels, self.grid, dropout=dropout)
        self.summary_size = self.summary.size

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.layers(pixels)
        return features, self.summary(features)
