"""The recurrent decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column
from regard.model.building.attention import build_attention
from regard.model.building.embedding import build_embedding, text_column
from regard.model.building.parts import build_decoder
from regard.nn import Objective, RecurrentDecoder
from regard.nn.hard import Drawing
from regard.spec import HardSpec, RecurrentDecoderSpec


@build_decoder.register(RecurrentDecoderSpec)
def _recurrent(
    decoder: RecurrentDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> RecurrentDecoder:
    if decoder.tie == "all":
        embedding = next(iter(sources.values())).embedding
    else:
        embedding = build_embedding(decoder, text_column(column), read_files=read_files)
    looks = {
        attention.over or next(iter(sources)): build_attention(attention, decoder.size, sources)
        for attention in decoder.attention
    }
    return RecurrentDecoder(
        embedding,
        sources,
        cell=decoder.cell,
        size=decoder.size,
        layers=decoder.layers,
        condition=decoder.condition or (("start", "attention") if looks else ("start",)),
        attention=looks or None,
        looking=decoder.attention[0].state if decoder.attention else "previous",
        feeding=all(attention.feed for attention in decoder.attention),
        deep=decoder.deep,
        tied=decoder.tie != "none",
        dropout=decoder.dropout,
        residual=decoder.residual,
        activation=decoder.activation,
        update=decoder.update,
        objective=_objective(decoder),
    )


def _objective(decoder: RecurrentDecoderSpec) -> Objective:
    """The weights of several attentions are one: the largest."""
    drawing = next(
        (attention.hard for attention in decoder.attention if attention.select == "hard"), HardSpec()
    )
    return Objective(
        smoothing=decoder.label_smoothing,
        guide=max((attention.guide for attention in decoder.attention), default=0.0),
        coverage=max((attention.coverage for attention in decoder.attention), default=0.0),
        drawing=Drawing(
            drawing.reward,
            drawing.entropy,
            drawing.expected,
            drawing.warmup,
            drawing.baseline,
        ),
    )
