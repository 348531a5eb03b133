"""Encoders of pictures."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column
from regard.model.building.parts import build_encoder
from regard.nn.encoders.image import Canvas, ImageEncoder, PictureNetwork, make_network
from regard.spec import ImageEncoderSpec


@build_encoder.register(ImageEncoderSpec)
def _image(encoder: ImageEncoderSpec, column: Column, *, read_files: bool = True) -> ImageEncoder:
    pictures: Any = column  # a column of pictures, which knows its canvas
    network = picture_network(encoder, (pictures.channels, *pictures.canvas), read_files=read_files)
    return ImageEncoder(network, position=encoder.position, rows=encoder.rows, dropout=encoder.dropout)


def picture_network(encoder: ImageEncoderSpec, canvas: Canvas, *, read_files: bool = True) -> PictureNetwork:
    """The network that sees pictures of that canvas."""
    return make_network(
        encoder.network,
        canvas,
        channels=encoder.channels,
        blocks=encoder.blocks,
        cell=encoder.cell,
        normalise=encoder.normalise,
        summary=encoder.summary,
        size=encoder.size,
        dropout=encoder.dropout,
        pretrained=encoder.pretrained and read_files,
        frozen=encoder.freeze,
    )
