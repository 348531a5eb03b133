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
        if decoder.query is not None and decoder.glimpses == 1:
            size = sources[decoder.query].summary_size  # the summary itself is the query
        looks = {over: build_attention(decoder.attention, size, sources)}
    return LabelDecoder(
        column.size,
        sources,
        attention=looks,
        query=decoder.query,
        glimpses=decoder.glimpses,
        whole=decoder.whole,
        where=decoder.where,
        hidden=decoder.hidden,
        combine=decoder.combine,
        guide=0.0 if decoder.attention is None else decoder.attention.guide,
        dropout=decoder.dropout,
        class_weights=class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )
