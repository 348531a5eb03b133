"""The align decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column, LabelColumn
from regard.model.building.class_weights import class_weights
from regard.model.building.parts import build_decoder
from regard.nn import AlignDecoder
from regard.spec import AlignDecoderSpec


@build_decoder.register(AlignDecoderSpec)
def _align(
    decoder: AlignDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> AlignDecoder:
    assert isinstance(column, LabelColumn)
    return AlignDecoder(
        column.size,
        sources,
        size=decoder.size,
        dropout=decoder.dropout,
        compare=decoder.compare,
        class_weights=class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )
