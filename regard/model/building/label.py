"""The label decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column, LabelColumn
from regard.model.building.attention import build_attention
from regard.model.building.class_weights import class_weights
from regard.model.building.parts import build_decoder
from regard.nn import LabelDecoder
from regard.spec import LabelDecoderSpec


@build_decoder.register(LabelDecoderSpec)
def _label(
    decoder: LabelDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> LabelDecoder:
    assert isinstance(column, LabelColumn)
    looks = None
    if decoder.attention is not None:
        over = decoder.attention.over or next(iter(sources))
        size = decoder.attention.size or sources[over].value_size
        looks = {over: build_attention(decoder.attention, size, sources)}
    return LabelDecoder(
        column.size,
        sources,
        attention=looks,
        dropout=decoder.dropout,
        class_weights=class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )
