"""What every network that sees pictures has in common."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from regard import parts
from regard.errors import RegardError
from regard.parts import Count, Mistakes, Size, find, one_of

AnyNetwork = Annotated[Any, one_of("network")]
"""A key of options that chooses a network for images: `network: lenet`, `network: {type: vgg, stride: 4}`."""
Normalize = Literal["place", "batch"]
Canvas = tuple[int, int, int]
"""C, H, W: channels, height and width of the pictures, in pixels."""


class PictureNetwork(nn.Module):
    """Pixels (B, C, H, W), normalized → features (B, channels, rows, columns) and a summary (B, summary_size).

    A new network derives from this class and writes `build`, `board` and `forward`.

    grid        rows and columns of the features
    mean, std   of a pixel between 0 and 1, for each channel: the pixels come as (x / 255 − mean) / std
    smallest    side of an image, in pixels, it can see
    """

    class Options(parts.Options):
        """A network has the options its own file names."""

    smallest: ClassVar[int] = 1

    @classmethod
    def build(
        cls, options: Any, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
    ) -> PictureNetwork:
        """The network for images of C × H × W; dropout and read_files as its encoder has them."""
        return cls(canvas, **dict(options))  # type: ignore[call-arg]

    @classmethod
    def board(cls, options: Any) -> list[str]:
        """Two lines: what it computes, and what its features and its summary are."""
        raise NotImplementedError

    @classmethod
    def check(cls, options: Any, sides: tuple[int, int], mistakes: Mistakes) -> None:
        """Report what cannot be for images of these sides."""
        if min(sides) < cls.smallest:
            mistakes.add(
                f"the network {options.type} needs images of {cls.smallest} pixels or more; these have {min(sides)}.",
                fix=f"Choose  size: {max(cls.smallest, 32)}  for the image.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        """Features of a position, where the options alone say it."""
        return None

    channels: int
    summary_size: int
    grid: tuple[int, int]
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.25,)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


def halvings(stride: int, stages: int) -> int:
    """How often the sides are halved, so that a grid cell is `stride` pixels wide; `stages` times at most."""
    times = stride.bit_length() - 1
    if stride < 1 or stride != 1 << times:
        raise RegardError(
            f"The stride of a grid is a power of two pixels; received {stride}.", fix="Choose 4, 8 or 16."
        )
    if times > stages:
        raise RegardError(
            f"A stride of {stride} pixels takes {times} halvings; the network can make {stages}.",
            fix=f"Choose a stride of {1 << stages} pixels or fewer, or more channels.",
        )
    return times


def halved(side: int, times: int) -> int:
    """A side after so many halvings, each rounded up."""
    return math.ceil(side / (1 << times))


class Mean(nn.Module):
    """The mean over the grid: (B, D, rows, columns) → (B, D); what is where is lost."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.size = channels

    def forward(self, features: Tensor) -> Tensor:
        return features.mean((2, 3))


class Connected(nn.Module):
    """relu(W x + b), x all features of the grid: (B, D, rows, columns) → (B, size); it knows what is where."""

    def __init__(self, channels: int, grid: tuple[int, int], size: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.layer = nn.Linear(channels * grid[0] * grid[1], size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.relu(self.layer(self.dropout(features.flatten(1))))


def summary_of(
    connected: int | None, channels: int, grid: tuple[int, int], *, dropout: float = 0.0
) -> Mean | Connected:
    """The mean over the grid, or a layer of so many units that sees all of it."""
    return Mean(channels) if connected is None else Connected(channels, grid, connected, dropout=dropout)


def summary_line(connected: int | None) -> str:
    return "the mean of h" if connected is None else f"relu(W [h_1; …; h_S] + b) of {connected}"


class StagedOptions(parts.Options):
    """Shared by the small networks of our own: stages of convolutions."""

    channels: Annotated[tuple[Size, ...], Field(min_length=1, max_length=8)] = (16, 32, 64)
    """Features of each stage, the first of resnet a plain convolution; the last are those of a grid cell."""
    blocks: Count = 1
    """Residual blocks, or convolutions, in each stage."""
    stride: Count = 8
    """Pixels per grid cell, a power of two."""
    normalize: Normalize = "place"
    """Over the features of each grid cell, or each feature over all cells of the batch, which learns sooner where
    images are much alike."""
    connected: Size | None = None
    """Summarize the image by a layer of so many units that sees the whole grid; default: the mean over the grid."""

    moved = {"cell": "stride", "normalise": "normalize", "summary": "connected: 128", "size": "connected"}


class StagedNetwork(PictureNetwork):
    """A network whose stages the options describe."""

    class Options(StagedOptions):
        """A network of stages."""

    least_halvings: ClassVar[int] = 0

    @classmethod
    def build(
        cls, options: Any, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
    ) -> PictureNetwork:
        return cls(canvas, dropout=dropout, **dict(options))  # type: ignore[call-arg]

    @classmethod
    def check(cls, options: Any, sides: tuple[int, int], mistakes: Mistakes) -> None:
        most = max(len(options.channels), cls.least_halvings)
        if options.stride & (options.stride - 1) or options.stride > 1 << most:
            mistakes.add(
                f"stride is {options.stride}; with {len(options.channels)} stages a grid cell can be "
                f"{', '.join(str(1 << times) for times in range(most + 1))} pixels wide.",
                "stride",
                fix="Choose one of these, or more channels.",
            )
        elif min(sides) < options.stride:
            mistakes.add(
                f"the network {options.type} needs images of {options.stride} pixels or more; "
                f"these have {min(sides)}.",
                "stride",
                fix="Choose a larger  size  for the image, or a smaller stride.",
            )

    @classmethod
    def width(cls, options: Any) -> int | None:
        return int(options.channels[-1])


def make_network(
    network: str | parts.Options, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
) -> PictureNetwork:
    """The network a name or its options describe."""
    options = find("network", network).Options() if isinstance(network, str) else network
    made: PictureNetwork = options.part.build(options, canvas, dropout=dropout, read_files=read_files)
    return made
