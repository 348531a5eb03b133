"""The lines about one part of a model, by the class of its spec."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

from regard.spec import AlignmentSpec, LabelSpec, TagsSpec, TextSpec

Answer = list[str]


@singledispatch
def column_line(column: Any, name: str) -> str:
    """`name: what it is`."""
    raise TypeError(column)


@singledispatch
def encoder_lines(encoder: Any) -> Answer:
    """What the encoder computes."""
    raise TypeError(encoder)


@singledispatch
def decoder_lines(decoder: Any) -> Answer:
    """What the decoder computes."""
    raise TypeError(decoder)


@singledispatch
def loss_line(decoder: Any) -> str:
    """What the decoder is trained for."""
    raise TypeError(decoder)


@column_line.register(TextSpec)
def _text(column: TextSpec, name: str) -> str:
    units = {"word": "words", "char": "characters", "byte": "bytes", "subword": "subwords"}
    return f"{name}: {units[column.unit]}"


@column_line.register(LabelSpec)
def _label(column: LabelSpec, name: str) -> str:
    return f"{name}: one of {len(column.classes)} classes" if column.classes else f"{name}: a class"


@column_line.register(TagsSpec)
def _tags(column: TagsSpec, name: str) -> str:
    return f"{name}: a tag for each token of {column.of}"


@column_line.register(AlignmentSpec)
def _alignment(column: AlignmentSpec, name: str) -> str:
    return f"{name}: which source token each target token comes from"


def weighted(weights: Mapping[str, float] | str | None) -> str:
    """How the classes count in a loss."""
    return ", classes weighted" + (" by their rarity" if weights == "balanced" else "") if weights else ""
