"""A small residual network (He, Zhang, Ren, Sun 2016)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from regard.nn.encoders.image.network import Canvas, PictureNetwork, halved, halvings, summary_of


def convolution(inputs: int, outputs: int, *, width: int = 3, stride: int = 1) -> nn.Sequential:
    """A convolution whose outputs have mean 0 and variance 1 over the batch, times and plus something learned."""
    layer = nn.Conv2d(inputs, outputs, width, stride, padding=width // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


class Block(nn.Module):
    """relu(x + F(x)), F two convolutions of 3 × 3; where the size changes, x goes through one of 1 × 1."""

    def __init__(self, inputs: int, outputs: int, *, stride: int = 1) -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, stride=stride)
        self.second = convolution(outputs, outputs)
        nn.init.zeros_(self.second[1].weight)  # a block starts as the identity
        changes = stride > 1 or inputs != outputs
        self.past = convolution(inputs, outputs, width=1, stride=stride) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.past(x) + self.second(nn.functional.relu(self.first(x))))


class ResidualNetwork(PictureNetwork):
    """A first convolution to channels[0], then a stage of `blocks` blocks for each of the channels.

    cell      pixels that a place of the grid is wide: the first convolution and the first stages after it halve the
              sides until it is reached
    summary   mean of the last stage, or `connected`: one layer of `size` units that sees the whole grid
    """

    def __init__(
        self,
        canvas: Canvas,
        *,
        channels: Sequence[int] = (16, 32, 64),
        blocks: int = 1,
        cell: int = 8,
        summary: str = "mean",
        size: int = 128,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        colours, height, width = canvas
        times = halvings(cell, len(channels))
        self.channels = channels[-1]
        self.grid = (halved(height, times), halved(width, times))
        # the sides are halved as early as can be, where it saves most
        self.first = convolution(colours, channels[0], width=5 if times else 3, stride=2 if times else 1)
        stages: list[nn.Module] = []
        below = channels[0]
        for stage, above in enumerate(channels):
            for block in range(blocks):
                halve = block == 0 and 0 < stage < times
                stages.append(Block(below, above, stride=2 if halve else 1))
                below = above
        self.stages = nn.Sequential(*stages)
        self.summary = summary_of(summary, self.channels, self.grid, size, dropout=dropout)
        self.summary_size = self.summary.size

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.stages(nn.functional.relu(self.first(pixels)))
        return features, self.summary(features)
