"""Whether what is perceived is given to an encoder that perceives it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.spec.encoders import SharedEncoderSpec
from regard.spec.perception import (
    AudioSpec,
    ImageEncoderSpec,
    ImageSpec,
    PerceivedSpec,
    PyramidEncoderSpec,
    SeriesSpec,
    VideoEncoderSpec,
    VideoSpec,
)
from regard.spec.shorthand import ENCODER_OF_COLUMN

if TYPE_CHECKING:
    from regard.spec.spec import Spec

Where = Callable[..., str]

READS: dict[type[Any], tuple[type[Any], ...]] = {
    ImageEncoderSpec: (ImageSpec,),
    VideoEncoderSpec: (VideoSpec,),
    PyramidEncoderSpec: (AudioSpec, SeriesSpec),
}


def check_perceiving(spec: Spec, where: Where) -> None:
    for name, encoder in spec.encoder.items():
        column, read = spec.inputs[name], READS.get(type(encoder))
        if isinstance(encoder, SharedEncoderSpec):
            continue
        fits = not isinstance(column, PerceivedSpec) if read is None else isinstance(column, read)
        if not fits:
            fitting = ENCODER_OF_COLUMN.get(column.type, "recurrent")
            raise RegardError(
                f"the encoder {encoder.type} cannot read {name}, which is of type {column.type}.",
                where=where("encoder", name, "type"),
                fix=f"Use type: {fitting}.",
            )
