"""Networks that see pictures, by name."""

from __future__ import annotations

from collections.abc import Sequence

from regard.errors import RegardError
from regard.nn.encoders.image.lenet import LeNet
from regard.nn.encoders.image.network import Canvas, Normalise, PictureNetwork
from regard.nn.encoders.image.pretrained import Backbone
from regard.nn.encoders.image.residual import ResidualNetwork
from regard.nn.encoders.image.vgg import VGG, VGG16

NETWORKS = ("lenet", "resnet", "vgg", "vgg16", "timm:NAME")


def make_network(
    name: str,
    canvas: Canvas,
    *,
    channels: Sequence[int] = (16, 32, 64),
    blocks: int = 1,
    cell: int = 8,
    normalise: Normalise = "place",
    summary: str = "mean",
    size: int = 128,
    dropout: float = 0.0,
    pretrained: bool = False,
    frozen: bool = False,
) -> PictureNetwork:
    """The network of that name, for pictures of C × H × W; each takes of the options those that are its own."""
    if name == "lenet":
        return LeNet(canvas)
    if name == "vgg16":
        return VGG16(canvas)
    if name in ("resnet", "vgg"):
        made = ResidualNetwork if name == "resnet" else VGG
        return made(
            canvas,
            channels=channels,
            blocks=blocks,
            cell=cell,
            normalise=normalise,
            summary=summary,
            size=size,
            dropout=dropout,
        )
    if name.startswith("timm:"):
        return Backbone(
            name.removeprefix("timm:"),
            canvas,
            pretrained=pretrained,
            frozen=frozen,
            summary=summary,
            size=size,
            dropout=dropout,
        )
    raise RegardError(f"There is no network {name!r}.", fix=f"Choose one of {', '.join(NETWORKS)}.")
