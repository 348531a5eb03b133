"""The tags decoder, with a chain over the tags or without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from regard.data.columns import Column, TagsColumn
from regard.data.columns.spans import Scheme, may_follow
from regard.model.building.class_weights import class_weights
from regard.model.building.parts import build_decoder
from regard.nn import ChainTagsDecoder, TagsDecoder
from regard.spec import TagsDecoderSpec


@build_decoder.register(TagsDecoderSpec)
def _tags(
    decoder: TagsDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> TagsDecoder | ChainTagsDecoder:
    assert isinstance(column, TagsColumn)
    if decoder.crf:
        constrained = decoder.constraints != "none"
        return ChainTagsDecoder(
            column.size,
            sources,
            of=column.of[0],
            dropout=decoder.dropout,
            allowed=allowed_tags(column.classes, decoder.constraints) if constrained else None,  # type: ignore[arg-type]
            decode=decoder.decode,
        )
    return TagsDecoder(
        column.size,
        sources,
        of=column.of[0],
        dropout=decoder.dropout,
        class_weights=class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )


def allowed_tags(classes: list[str], scheme: Scheme) -> Tensor:
    """(C + 1, C + 1): whether tag i may come before tag j; the last row is the beginning, the last column the end."""
    ends = [*classes, None]
    return torch.tensor([[may_follow(before, after, scheme) for after in ends] for before in ends])
