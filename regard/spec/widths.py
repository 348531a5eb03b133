"""How wide a memory is: a dot product compares vectors of one width."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from regard.errors import RegardError
from regard.spec.attention import AttentionSpec
from regard.spec.decoders import RecurrentDecoderSpec
from regard.spec.perception import ImageEncoderSpec, PyramidEncoderSpec, VideoEncoderSpec
from regard.spec.reading import encoder_of

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]


def check_width(
    spec: Spec, name: str, decoder: RecurrentDecoderSpec, attention: AttentionSpec, where: Where
) -> None:
    source = attention.over or next(iter(spec.encoder))
    width = memory_width(spec, source)
    if width is not None and width != decoder.size:
        raise RegardError(
            f"a {attention.score} score compares vectors of one width; "
            f"the memory of {source} has {width}, the decoder {decoder.size}.",
            where=where("decoder", name, "attention", "score"),
            fix=f"Use score: general, or make the decoder's size {width}.",
        )


def memory_width(spec: Spec, source: str) -> int | None:
    """Features of a position of the memory of an input; None where a foreign network alone knows."""
    perceiving = spec.encoder[source]
    if isinstance(perceiving, PyramidEncoderSpec):
        return 2 * perceiving.size
    if isinstance(perceiving, VideoEncoderSpec):
        return perceiving.size * (2 if perceiving.bidirectional else 1)
    if isinstance(perceiving, ImageEncoderSpec):
        if perceiving.network.startswith("timm:"):
            return None
        features = {"lenet": 16, "vgg16": 512}.get(perceiving.network, perceiving.channels[-1])
        return features + 2 if perceiving.position == "coordinates" else features
    encoder = encoder_of(spec, source)
    if encoder.type == "recurrent":
        width = encoder.size * (2 if encoder.bidirectional else 1)
    elif encoder.type == "convolutional":
        width = encoder.size
    else:
        width = encoder.embedding
    return width * 2 if encoder.parents is not None else width
