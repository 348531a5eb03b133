"""Networks in the style of VGG (Simonyan, Zisserman 2015): stages of 3 × 3 convolutions, max pooling between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor, nn

from regard.nn.encoders.image.network import (
    SUMMARY_LETTERS,
    Canvas,
    Normalize,
    StagedNetwork,
    halved,
    halvings,
    map_at,
    norm_line,
    normed,
    summary_lines,
    summary_of,
)
from regard.nn.encoders.image.resnet import convolution
from regard.nn.letters import Letters, linear
from regard.parts import register


def pooling_lines(pooled: Sequence[int], last: int, at: str) -> list[str]:
    """Equations of m_l from M_l, l = 1 … last; the maps in `pooled` have half the rows and columns."""
    here, there = map_at("m", "l", at), map_at("M", "l", at)
    if list(pooled) == list(range(1, len(pooled) + 1)) and pooled:
        rest = [f"{here} = {there}     for l > {len(pooled)}"] if len(pooled) < last else []
        return [f"{here} = maxpool({there})" + (f"     for l ≤ {len(pooled)}" if rest else ""), *rest]
    return [
        *(f"{map_at('m', str(one), at)} = maxpool({map_at('M', str(one), at)})" for one in pooled),
        f"{here} = {there}",
    ]


@register("network", "vgg")
class VGG(StagedNetwork):
    """A stage of `blocks` convolutions for each of the channels, pooled until a grid cell is `stride` pixels wide.

    This network is smaller than the published ones, and normalized, so that it learns from few images without
    pretraining. `connected` is as in `ResidualNetwork`.
    """

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        last = len(options.channels) * options.blocks
        pooled = [
            options.blocks * stage for stage in range(1, halvings(options.stride, len(options.channels)) + 1)
        ]
        before = f"m_{{l−1{',' + at if at else ''}}}"
        return [
            f"l = 1 … {last}",
            f"{map_at('m', '0', at)} = {seen}",
            f"{map_at('M', 'l', at)} = relu({normed(f'F_l * {before}', 'l', options.normalize)})",
            *pooling_lines(pooled, last, at),
            f"{map_at('G', at)} = {map_at('m', str(last), at)}     — the grid: "
            f"one position for every {options.stride} × {options.stride} pixels",
            *summary_lines(options.connected, at, summary, norm=options.connected_norm),
            norm_line(options.normalize),
            f"— {options.blocks} convolutions of 3 × 3 of each of {', '.join(map(str, options.channels))} features",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        return linear("layers.*.0", "F_l") | linear("layers.*.1", "g_l", "b_l") | SUMMARY_LETTERS

    def __init__(
        self,
        canvas: Canvas,
        *,
        channels: Sequence[int] = (16, 32, 64),
        blocks: int = 1,
        stride: int = 8,
        normalize: Normalize = "place",
        connected: int | None = None,
        connected_norm: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        colors, height, width = canvas
        times = halvings(stride, len(channels))
        self.channels = channels[-1]
        self.grid = (halved(height, times), halved(width, times))
        layers: list[nn.Module] = []
        below = colors
        for stage, above in enumerate(channels):
            for _ in range(blocks):
                layers += [convolution(below, above, normalize=normalize), nn.ReLU()]
                below = above
            if stage < times:
                layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(*layers)
        self.summary = summary_of(connected, self.channels, self.grid, norm=connected_norm, dropout=dropout)
        self.summary_size = self.summary.size

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.layers(pixels)
        return features, self.summary(features)
