"""The encoder of films."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column
from regard.model.building.images import picture_network
from regard.model.building.parts import build_encoder
from regard.nn.encoders.video import VideoEncoder
from regard.spec import VideoEncoderSpec


@build_encoder.register(VideoEncoderSpec)
def _video(encoder: VideoEncoderSpec, column: Column, *, read_files: bool = True) -> VideoEncoder:
    films: Any = column  # a column of films, which knows its canvas
    canvas = (films.channels, *films.canvas)
    doubled = (2 * films.channels, *films.canvas)
    local = encoder.motion == "local"
    return VideoEncoder(
        picture_network(encoder.frame, canvas, read_files=read_files),
        motion=picture_network(encoder.frame, doubled, read_files=read_files) if local else None,
        cell=None if encoder.cell == "none" else encoder.cell,
        size=encoder.size,
        bidirectional=encoder.bidirectional,
        values=encoder.values,
        dropout=encoder.dropout,
    )
