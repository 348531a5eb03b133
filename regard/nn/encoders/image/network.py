"""The base of all networks that read images."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor, nn

from regard import parts
from regard.errors import RegardError
from regard.nn.letters import Letters, linear
from regard.parts import Count, Depth, Mistakes, Size, find, one_of
from regard.parts.contract import base, optional, required

AnyNetwork = Annotated[Any, one_of("network")]
"""An option that chooses a network for images: `network: lenet`, `network: {type: vgg, stride: 4}`."""
Normalize = Literal["place", "batch"]
Canvas = tuple[int, int, int]
"""C, H, W: channels, height and width of the images, in pixels."""


@base("network", gives=("canvas",), spread=True, maker="build")
class ImageNetwork(nn.Module):
    """Normalized pixels (B, C, H, W) → features (B, channels, rows, columns) and a summary (B, summary_size).

    To add a network, derive from this class and write `build`, `board` and `forward`.

    grid        rows and columns of the features
    mean, std   of a pixel between 0 and 1, for each channel: pixels are normalized to (x / 255 − mean) / std
    smallest    smallest side of an image, in pixels
    """

    class Options(parts.Options):
        """Each network defines its own options."""

    smallest: ClassVar[int] = 1

    @classmethod
    @optional("when a model is built or loaded")
    def build(
        cls, options: Any, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
    ) -> ImageNetwork:
        """The network for images of C × H × W; dropout and read_files as in its encoder."""
        return cls(canvas, **dict(options))  # type: ignore[call-arg]

    @classmethod
    @required("by `regard describe`")
    def board(cls, options: Any, seen: str, at: str, summary: str) -> list[str]:
        """Equations from the map `seen` to the map G of features and the summary.

        at   an index below every map, including G: j for a frame, whose grid has the positions ζ = 1 … K;
             empty for a single image, whose grid has the positions j = 1 … S
        """
        raise NotImplementedError

    @classmethod
    @optional("to draw the network")
    def letters(cls, options: Any) -> Letters:
        """The letter of each parameter in these equations (`regard.nn.letters`)."""
        return {}

    @classmethod
    def pixel_line(cls, options: Any, at: str) -> str:
        """The equation of the normalized pixels x from the pixels X; `at` as in `board`."""
        below = f"_{at}" if at else ""
        mean, std = cls.mean[0], cls.std[0]
        return f"x{below} = (X{below} / 255 − {mean:g}) / {std:g}     — X{below}: the pixels"

    @classmethod
    @optional("when a spec is checked")
    def check(cls, options: Any, sides: tuple[int, int], mistakes: Mistakes) -> None:
        """Report options that are invalid for images of these sides."""
        if min(sides) < cls.smallest:
            mistakes.add(
                f"the network {options.type} needs images of {cls.smallest} pixels or more; these have {min(sides)}.",
                fix=f"Choose  size: {max(cls.smallest, 32)}  for the image.",
            )

    @classmethod
    @optional("when a spec is checked")
    def width(cls, options: Any) -> int | None:
        """Features of a position, if the options alone determine them."""
        return None

    channels: int
    summary_size: int
    grid: tuple[int, int]
    mean: tuple[float, ...] = (0.5,)
    std: tuple[float, ...] = (0.25,)

    @required("for every batch of images")
    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        """(B, C, H, W) → (B, channels, rows, columns) and (B, summary_size)."""
        raise NotImplementedError


def halvings(stride: int, stages: int) -> int:
    """How often the sides are halved so that a grid cell is `stride` pixels wide; at most `stages` times."""
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
    """A side after `times` halvings, each rounded up."""
    return math.ceil(side / (1 << times))


class Mean(nn.Module):
    """The mean over the grid: (B, D, rows, columns) → (B, D). It does not preserve positions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.size = channels

    def forward(self, features: Tensor) -> Tensor:
        return features.mean((2, 3))


class Connected(nn.Module):
    """relu(W x + b), x all features of the grid: (B, D, rows, columns) → (B, size). It preserves positions.

    norm   relu(norm(W x)) instead, normalized over the units of an image. x is not negative, and a unit reads
           thousands of features. One step of Adam moves every weight by the learning rate, and so moves W x
           by more than images differ. Without normalization and with a rate of 0.003, every unit is soon
           active for all images or for none.
    """

    def __init__(
        self, channels: int, grid: tuple[int, int], size: int, *, norm: bool = False, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.size = size
        self.layer = nn.Linear(channels * grid[0] * grid[1], size, bias=not norm)
        self.norm = nn.LayerNorm(size) if norm else nn.Identity()
        self.dropout = nn.Dropout(dropout)

    def forward(self, features: Tensor) -> Tensor:
        return nn.functional.relu(self.norm(self.layer(self.dropout(features.flatten(1)))))


def summary_of(
    connected: int | None,
    channels: int,
    grid: tuple[int, int],
    *,
    norm: bool = False,
    dropout: float = 0.0,
) -> Mean | Connected:
    """The mean over the grid, or a layer of `connected` units over the whole grid."""
    if connected is None:
        return Mean(channels)
    return Connected(channels, grid, connected, norm=norm, dropout=dropout)


def map_at(letter: str, *below: str) -> str:
    """A map with its subscripts: m_3, m_3j, G."""
    return f"{letter}_{''.join(below)}" if any(below) else letter


def whole_grid(at: str) -> str:
    """All features of the grid as one vector; `at` as in `ImageNetwork.board`."""
    grid = map_at("G", at)
    return f"[{grid}[1]; …; {grid}[{'K' if at else 'S'}]]"


def summary_lines(connected: int | None, at: str, summary: str, *, norm: bool = False) -> list[str]:
    """Equations of the summary of the grid G."""
    if connected is None:
        place, places = ("ζ", "K") if at else ("j", "S")
        return [f"{summary} = Σ_{place} {map_at('G', at)}[{place}] / {places}     — the summary"]
    note = f"     — the summary, of {connected} units"
    if not norm:
        return [f"{summary} = relu(W_v {whole_grid(at)} + b_v){note}"]
    seen = map_at("ĥ", at)
    return [
        f"{seen} = W_v {whole_grid(at)}",
        f"{summary} = relu(g_v ⊙ ({seen} − mean({seen})) / √(mean(({seen} − mean({seen}))²) + 0.00001) + b_v){note}",
    ]


SUMMARY_LETTERS = linear("summary.layer", "W_v", "b_v") | linear("summary.norm", "g_v", "b_v")
"""The letters of the layer that summarizes the grid."""


NORMS = {
    "place": (
        "norm(x, g, b) = g ⊙ (x − mean(x)) / √(mean((x − mean(x))²) + 0.00001) + b",
        "over the features",
    ),
    "batch": (
        "norm(x, g, b, μ, ω) = g ⊙ (x − μ) / √(ω + 0.00001) + b",
        "μ, ω: of the batch; in prediction, of training",
    ),
}


def norm_line(normalize: Normalize) -> str:
    line, note = NORMS[normalize]
    return f"{line}     — {note}"


def normed(inside: str, below: str, normalize: Normalize) -> str:
    """`norm(F_l * x, g_l, b_l)`, with the subscript of the weights."""
    letters = ("g", "b") if normalize == "place" else ("g", "b", "μ", "ω")
    return f"norm({', '.join([inside, *(f'{letter}_{below}' for letter in letters)])})"


class StagedOptions(parts.Options):
    """Options shared by regard's own small networks: stages of convolutions."""

    channels: Annotated[tuple[Size, ...], Field(min_length=1, max_length=8)] = (16, 32, 64)
    """Features of each stage. The first stage of resnet is a plain convolution. The last number is the
    features of a grid cell."""
    blocks: Depth = 1
    """Residual blocks (resnet) or convolutions (vgg) in each stage."""
    stride: Count = 8
    """Pixels per grid cell, a power of two."""
    normalize: Normalize = "place"
    """place: normalize over the features of each grid cell. batch: normalize each feature over all cells of
    the batch, which learns sooner if images are much alike."""
    connected: Size | None = None
    """Units of a layer over the whole grid that summarizes the image; default: the mean over the grid."""
    connected_norm: bool = False
    """Normalize the connected units of an image before their relu. Without it and at a high learning rate,
    units may end up active for all images or for none."""

    moved = {"cell": "stride", "normalise": "normalize", "summary": "connected: 128", "size": "connected"}


class StagedNetwork(ImageNetwork):
    """A network whose stages the options describe."""

    class Options(StagedOptions):
        """A network of stages."""

    least_halvings: ClassVar[int] = 0

    @classmethod
    def build(
        cls, options: Any, canvas: Canvas, *, dropout: float = 0.0, read_files: bool = True
    ) -> ImageNetwork:
        return cls(canvas, dropout=dropout, **dict(options))  # type: ignore[call-arg]

    @classmethod
    def check(cls, options: Any, sides: tuple[int, int], mistakes: Mistakes) -> None:
        if options.connected_norm and options.connected is None:
            mistakes.add(
                "connected_norm needs a connected layer, and this network has none.",
                "connected_norm",
                fix="Add  connected: 128, or leave connected_norm out.",
            )
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
) -> ImageNetwork:
    """The network with this name or these options."""
    options = find("network", network).Options() if isinstance(network, str) else network
    made: ImageNetwork = options.part.build(options, canvas, dropout=dropout, read_files=read_files)
    return made
