"""Encoders of pictures."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column
from regard.model.building.parts import build_encoder
from regard.nn.encoders.image import ImageEncoder, PictureNetwork, make_network
from regard.spec import ImageEncoderSpec


@build_encoder.register(ImageEncoderSpec)
def _image(encoder: ImageEncoderSpec, column: Column, *, read_files: bool = True) -> ImageEncoder:
    network = picture_network(encoder, column, read_files=read_files)
    return ImageEncoder(network, position=encoder.position, dropout=encoder.dropout)


def picture_network(encoder: ImageEncoderSpec, column: Any, *, read_files: bool = True) -> PictureNetwork:
    """The network that sees the pictures of a column."""
    height, width = column.canvas
    return make_network(
        encoder.network,
        (column.channels, height, width),
        channels=encoder.channels,
        blocks=encoder.blocks,
        cell=encoder.cell,
        summary=encoder.summary,
        size=encoder.size,
        dropout=encoder.dropout,
        pretrained=encoder.pretrained and read_files,
        frozen=encoder.freeze,
    )
