"""The tags decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column, TagsColumn
from regard.model.building.class_weights import class_weights
from regard.model.building.parts import build_decoder
from regard.nn import TagsDecoder
from regard.spec import TagsDecoderSpec


@build_decoder.register(TagsDecoderSpec)
def _tags(
    decoder: TagsDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> TagsDecoder:
    assert isinstance(column, TagsColumn)
    return TagsDecoder(
        column.size,
        sources,
        of=column.of[0],
        dropout=decoder.dropout,
        class_weights=class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )
