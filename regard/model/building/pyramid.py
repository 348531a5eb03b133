"""The pyramid encoder of sounds and series."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column
from regard.model.building.parts import build_encoder
from regard.nn.encoders.pyramid import PyramidEncoder
from regard.spec import PyramidEncoderSpec


@build_encoder.register(PyramidEncoderSpec)
def _pyramid(encoder: PyramidEncoderSpec, column: Column, *, read_files: bool = True) -> PyramidEncoder:
    series: Any = column  # a column of series or sounds, which knows the width of its frames
    return PyramidEncoder(
        series.width,
        cell=encoder.cell,
        size=encoder.size,
        layers=encoder.layers,
        reductions=encoder.reductions,
        dropout=encoder.dropout,
        frame_seconds=getattr(column, "frame_seconds", None),
    )
