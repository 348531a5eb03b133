"""Attention of a decoder over one of its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.nn import Attention
from regard.nn.selections import Local
from regard.spec import AttentionSpec


def build_attention(attention: AttentionSpec, query_size: int, sources: Mapping[str, Any]) -> Attention:
    over = attention.over or next(iter(sources))
    select: Any = attention.select
    if attention.select == "local":
        select = Local(query_size, window=attention.window, monotonic=attention.centre == "monotonic")
    return Attention(
        query_size, sources[over].value_size, score=attention.score, select=select, size=attention.size
    )
