"""Whether a network can see the pictures it is given, with the options it is given."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.perception import ImageEncoderSpec, ImageSpec, PerceivedSpec

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]

OWN_SHAPE = ("lenet", "vgg16")
"""Networks whose stages are given."""


def check_images(spec: Spec, where: Where) -> None:
    for name, encoder in spec.encoder.items():
        if isinstance(encoder, ImageEncoderSpec):
            _options(name, encoder, where)
            _canvas(spec, name, encoder, where)
    _tied(spec, where)


def _options(name: str, encoder: ImageEncoderSpec, where: Where) -> None:
    """Options of one network that were given to another."""
    given = encoder.model_fields_set
    timm = encoder.network.startswith("timm:")
    for option in ("channels", "blocks", "cell"):
        if option in given and (timm or encoder.network in OWN_SHAPE):
            raise RegardError(
                f"the network {encoder.network} has a shape of its own; {option} is of resnet and vgg.",
                where=where("encoder", name, option),
                fix=f"Leave {option} out, or choose network: resnet.",
            )
    if "summary" in given and encoder.network in OWN_SHAPE:
        raise RegardError(
            f"the network {encoder.network} has a summary of its own.",
            where=where("encoder", name, "summary"),
            fix="Leave summary out.",
        )
    if encoder.pretrained and not timm:
        raise RegardError(
            f"there are no weights of {encoder.network} to begin with.",
            where=where("encoder", name, "pretrained"),
            fix="Choose a network of timm, such as timm:resnet18, or leave pretrained out.",
        )
    if encoder.freeze and not encoder.pretrained:
        raise RegardError(
            "a network with fresh weights is to stay as it is.",
            where=where("encoder", name, "freeze"),
            fix="Add  pretrained: true, or leave freeze out.",
        )


def _canvas(spec: Spec, name: str, encoder: ImageEncoderSpec, where: Where) -> None:
    """Whether the picture is large enough, and the grid can be had."""
    column = spec.inputs[name]
    assert isinstance(column, ImageSpec)
    sides = (column.size, column.size) if isinstance(column.size, int) else column.size
    least = {"lenet": 16, "vgg16": 32}.get(encoder.network, 1)
    if encoder.network in ("resnet", "vgg"):
        least = encoder.cell
        halvings = len(encoder.channels)
        if encoder.network == "resnet":
            halvings = max(halvings, 2)
        if encoder.cell & (encoder.cell - 1) or encoder.cell > 1 << halvings:
            raise RegardError(
                f"cell is {encoder.cell}; with {len(encoder.channels)} stages a place can be "
                f"{', '.join(str(1 << times) for times in range(halvings + 1))} pixels wide.",
                where=where("encoder", name, "cell"),
                fix="Choose one of these, or more channels.",
            )
    if min(sides) < least:
        raise RegardError(
            f"the network {encoder.network} needs pictures of {least} pixels or more; {name} has {min(sides)}.",
            where=where("inputs", name, "size"),
            fix=f"Choose  size: {max(least, 32)}.",
        )


def _tied(spec: Spec, where: Where) -> None:
    """`tie: all` shares embeddings, and what is perceived has none."""
    perceived = [name for name, column in spec.inputs.items() if isinstance(column, PerceivedSpec)]
    for name, decoder in spec.decoder.items():
        if perceived and getattr(decoder, "tie", "none") == "all":
            raise RegardError(
                f"tie: all shares the embeddings of the inputs, and {perceived[0]} has none.",
                where=where("decoder", name, "tie"),
                fix="Use tie: output.",
            )
