"""Attention of a decoder over one of its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.nn import Attention
from regard.nn.hard import Hard
from regard.nn.scores import Location, Score
from regard.nn.segments import Segments
from regard.nn.selections import Local, Selection, Sigmoid
from regard.spec import AttentionSpec


def build_attention(attention: AttentionSpec, query_size: int, sources: Mapping[str, Any]) -> Attention:
    over = attention.over or next(iter(sources))
    select = _selection(attention, query_size)
    key_size = getattr(sources[over], "key_size", None)
    return Attention(
        query_size,
        sources[over].value_size,
        score=_score(attention, query_size, key_size or sources[over].value_size),
        select=select,
        size=attention.size,
        key_size=key_size,
    )


def _score(attention: AttentionSpec, query_size: int, key_size: int) -> Score | str:
    """The score with its options, or the name of one that has none."""
    if attention.score == "location":
        return Location(
            query_size, key_size, attention.size, filters=attention.filters, reach=attention.reach
        )
    return attention.score


def _selection(attention: AttentionSpec, query_size: int) -> Selection | str:
    """The selection with its options, or the name of one that has none."""
    if attention.select == "local":
        return Local(query_size, window=attention.window, monotonic=attention.centre == "monotonic")
    if attention.select == "hard":
        return Hard(read=attention.hard.read)
    if attention.select == "sigmoid":
        return Sigmoid(normalize=attention.normalize)
    if attention.select == "segments":
        return Segments(normalize=attention.normalize, decay=attention.decay)
    return attention.select
