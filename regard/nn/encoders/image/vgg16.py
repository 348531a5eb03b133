"""VGG-16 and VGG-13 (Simonyan, Zisserman 2015), layer by layer as published."""

from __future__ import annotations

from itertools import accumulate
from typing import Any, ClassVar

from torch import Tensor, nn

from regard.nn.encoders.image.network import Canvas, ImageNetwork, halved, map_at
from regard.nn.encoders.image.vgg import pooling_lines
from regard.nn.letters import Letters, linear
from regard.parts import register

STAGES = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))
"""Channels of the 13 convolutions of VGG-16 (configuration D)."""
PAIRS = tuple(widths[:2] for widths in STAGES)
"""Channels of the 10 convolutions of VGG-13 (configuration B)."""


@register("network", "vgg16")
class VGG16(ImageNetwork):
    """VGG-16 as published, without its last layer.

    At 224 × 224 pixels the grid is conv5_3 before its pooling: 14 × 14 = 196 positions of 512 features, as in
    Show, Attend and Tell. The summary is fc7: relu(W₇ relu(W₆ pool5 + b₆) + b₇), 4096 features, with a
    dropout of one half.
    """

    stages: ClassVar[tuple[tuple[int, ...], ...]] = STAGES
    channels = 512
    summary_size = 4096
    smallest = 32

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        ends = list(accumulate(map(len, cls.stages)))
        before, last = f"m_{{l−1{',' + at if at else ''}}}", ends[-1]
        pooled, name = map_at("P", at), f"conv5_{len(cls.stages[-1])}"
        return [
            f"l = 1 … {last}",
            f"{map_at('m', '0', at)} = {seen}",
            f"{map_at('M', 'l', at)} = relu(F_l * {before} + b_l)",
            *pooling_lines(ends[:-1], last, at),
            f"{map_at('G', at)} = {map_at('m', str(last), at)}     — {name}: one position for every 16 × 16 pixels, "
            "14 × 14 × 512 for an image of 224 × 224",
            f"{pooled} = maxpool({map_at('G', at)})",
            f"{map_at('r', '6', at)} = relu(W_6 [{pooled}[1]; …; {pooled}[Q]] + b_f)     — Q positions",
            f"{summary} = relu(W_7 {map_at('r', '6', at)} + b_v)     — fc7, the summary",
            f"— VGG-{last + 3}: convolutions of 3 × 3; {cls.widths()}; fc of 4096",
        ]

    @classmethod
    def widths(cls) -> str:
        """The number of convolutions of each stage and of their features, in words."""
        first, *rest = (f"{len(widths)} of {widths[0]}" for widths in cls.stages)
        return ", ".join([f"{first} features", *rest])

    @classmethod
    def letters(cls, options: Any) -> Letters:
        connected = linear("connected.2", "W_6", "b_f") | linear("connected.5", "W_7", "b_v")
        return linear("layers.*", "F_l", "b_l") | connected

    @classmethod
    def width(cls, options: Any) -> int | None:
        return cls.channels

    def __init__(self, canvas: Canvas) -> None:
        super().__init__()
        colors, height, width = canvas
        self.grid = (halved(height, 4), halved(width, 4))
        layers: list[nn.Module] = []
        below = colors
        for stage, widths in enumerate(self.stages):
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


@register("network", "vgg13")
class VGG13(VGG16):
    """VGG-13 as published, without its last layer: as `vgg16`, with two convolutions in each stage."""

    stages = PAIRS
