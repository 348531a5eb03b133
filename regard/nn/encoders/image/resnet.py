"""A small residual network (He, Zhang, Ren, Sun 2016)."""

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
from regard.nn.letters import Letters, linear
from regard.parts import register


class PlaceNorm(nn.LayerNorm):
    """(B, C, H, W): mean 0 and variance 1 over the features of each position, then a learned scale and shift.

    The features of a position then depend on its image alone. With batch normalization they would depend on
    the other images of the batch and, in use, on statistics of the training images. If some scenes have few
    objects and others many, this amounts to another network.
    """

    def forward(self, features: Tensor) -> Tensor:
        return super().forward(features.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def normalization(kind: Normalize, channels: int) -> nn.Module:
    """place: `PlaceNorm`;
    batch: each feature over all positions of all images, which learns sooner if they are alike."""
    return PlaceNorm(channels) if kind == "place" else nn.BatchNorm2d(channels)


def convolution(
    inputs: int, outputs: int, *, width: int = 3, normalize: Normalize = "place"
) -> nn.Sequential:
    """A convolution, normalized at each position or over the batch."""
    layer = nn.Conv2d(inputs, outputs, width, padding=width // 2, bias=False)
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(layer, normalization(normalize, outputs))


class First(nn.Module):
    """relu of a convolution that divides the sides by `stride`, with a kernel of 2·stride × 2·stride.

    The center of a position's receptive field is the center of the position, so that attention lies on the
    attended object. A strided convolution of odd width would shift it by half a position.
    """

    def __init__(self, inputs: int, outputs: int, *, stride: int, normalize: Normalize = "place") -> None:
        super().__init__()
        self.stride = stride
        width, padding = (2 * stride, stride // 2) if stride > 1 else (3, 1)
        self.layer = nn.Conv2d(inputs, outputs, width, stride, padding, bias=False)
        nn.init.kaiming_normal_(self.layer.weight, mode="fan_out", nonlinearity="relu")
        self.norm = normalization(normalize, outputs)

    def forward(self, pixels: Tensor) -> Tensor:
        height, width = (-side % self.stride for side in pixels.shape[2:])  # to whole grid cells
        return nn.functional.relu(self.norm(self.layer(nn.functional.pad(pixels, (0, width, 0, height)))))


class ResidualBlock(nn.Module):
    """relu(x + F(x)), F two convolutions of 3 × 3;
    if the number of features changes, x goes through one of 1 × 1."""

    def __init__(self, inputs: int, outputs: int, *, normalize: Normalize = "place") -> None:
        super().__init__()
        self.first = convolution(inputs, outputs, normalize=normalize)
        self.second = convolution(outputs, outputs, normalize=normalize)
        nn.init.zeros_(self.second[1].weight)  # type: ignore[arg-type]  # a block starts as the identity
        changes = inputs != outputs
        self.past = convolution(inputs, outputs, width=1, normalize=normalize) if changes else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.relu(self.past(x) + self.second(nn.functional.relu(self.first(x))))


@register("network", "resnet")
class ResidualNetwork(StagedNetwork):
    """A first convolution to channels[0], max pooling, then a stage of `blocks` blocks for each of the other channels.

    stride      pixels per grid cell. The first convolution halves the sides, then the pooling after it, then
                the pooling before each stage except the first, until the stride is reached
    connected   None: the summary is the mean of the last stage; a number: the units of a layer over the whole
                grid
    """

    least_halvings = 2

    @classmethod
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        times, kind = halvings(options.stride, max(len(options.channels), 2)), options.normalize
        first = normed(f"(F_0 * {seen})↓2" if times else f"F_0 * {seen}", "0", kind)
        lines = [
            f"{map_at('m', '0', at)} = " + (f"maxpool(relu({first}))" if times > 1 else f"relu({first})")
        ]
        below, number, kept = options.channels[0], 0, []
        for stage, above in enumerate(options.channels[1:]):
            for block in range(options.blocks):
                before = map_at("m", str(number), at)
                if block == 0 and 0 < stage < times - 1:
                    before = f"maxpool({before})"
                number += 1
                lines.append(f"{map_at('m', str(number), at)} = block_{number}({before})")
                kept += [number] if below == above else []
                below = above
        past = normed("F_l0 * x", "l0", kind)
        return [
            *([f"l = 1 … {number}"] if number else []),
            *lines,
            f"{map_at('G', at)} = {map_at('m', str(number), at)}     — the grid: "
            f"one position for every {options.stride} × {options.stride} pixels",
            *summary_lines(options.connected, at, summary, norm=options.connected_norm),
            *([f"block_l(x) = relu(past_l(x) + {normed('F_l2 * y', 'l2', kind)})"] if number else []),
            *([f"    y = relu({normed('F_l1 * x', 'l1', kind)})"] if number else []),
            *(f"past_{one}(x) = x     — as many features as before" for one in kept),
            *([f"past_l(x) = {past}"] if number > len(kept) else []),
            norm_line(kind),
            f"— {', '.join(map(str, options.channels))} features; F_0 of {'4 × 4' if times else '3 × 3'}, "
            "F_l1 and F_l2 of 3 × 3, F_l0 of 1 × 1",
        ]

    @classmethod
    def letters(cls, options: Any) -> Letters:
        found = linear("first.layer", "F_0") | linear("first.norm", "g_0", "b_0") | SUMMARY_LETTERS
        for number, place in enumerate(cls._places(options), start=1):
            for way, path in enumerate(("past", "first", "second")):
                below = f"{{{number},{way}}}"
                found |= linear(f"stages.{place}.{path}.0", f"F_{below}")
                found |= linear(f"stages.{place}.{path}.1", f"g_{below}", f"b_{below}")
        return found

    @classmethod
    def _places(cls, options: Any) -> list[int]:
        """The places of the blocks among the stages, some of which begin with a pooling."""
        times = halvings(options.stride, max(len(options.channels), 2))
        found: list[int] = []
        place = int(times > 1)
        for stage in range(len(options.channels) - 1):
            place += int(0 < stage < times - 1)
            found += range(place, place + options.blocks)
            place += options.blocks
        return found

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
        times = halvings(stride, max(len(channels), 2))
        self.channels = channels[-1]
        self.grid = (halved(height, times), halved(width, times))
        self.first = First(colors, channels[0], stride=2 if times else 1, normalize=normalize)
        stages: list[nn.Module] = [nn.MaxPool2d(2, ceil_mode=True)] if times > 1 else []
        below = channels[0]
        for stage, above in enumerate(channels[1:]):
            if 0 < stage < times - 1:
                stages.append(nn.MaxPool2d(2, ceil_mode=True))
            for _ in range(blocks):
                stages.append(ResidualBlock(below, above, normalize=normalize))
                below = above
        self.stages = nn.Sequential(*stages)
        self.summary = summary_of(connected, self.channels, self.grid, norm=connected_norm, dropout=dropout)
        self.summary_size = self.summary.size

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        features = self.stages(self.first(pixels))
        return features, self.summary(features)
