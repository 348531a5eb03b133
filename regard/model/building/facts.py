"""Memory networks: the encoders of a story and of a question, and the facts decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from regard.data.columns import Column, LabelColumn, StoryColumn
from regard.model.building.embedding import build_embedding, text_column
from regard.model.building.parts import build_decoder, build_encoder
from regard.nn import Attention, BagEncoder, FactsDecoder, RecurrentEncoder, StoryEncoder
from regard.nn.embedding import Embedding
from regard.nn.encoders.story import begin_with_words
from regard.nn.facts import Facts
from regard.spec import BagEncoderSpec, FactsDecoderSpec, StoryEncoderSpec


@build_encoder.register(BagEncoderSpec)
def _bag(encoder: BagEncoderSpec, column: Column, *, read_files: bool = True) -> BagEncoder:
    embedding = build_embedding(encoder, text_column(column), read_files=read_files)
    return BagEncoder(embedding, position=encoder.position)


@build_encoder.register(StoryEncoderSpec)
def _story(encoder: StoryEncoderSpec, column: Column, *, read_files: bool = True) -> StoryEncoder:
    assert isinstance(column, StoryColumn)
    words = column.words

    embeddings = [
        build_embedding(encoder, words, read_files=read_files) for _ in range((encoder.hops or 1) + 1)
    ]
    if encoder.start == "words":
        begin_with_words([embedding.weight for embedding in embeddings])

    def sentences(embedding: Embedding) -> BagEncoder | RecurrentEncoder:
        if encoder.sentence == "bag":
            return BagEncoder(embedding, position=encoder.position)
        return RecurrentEncoder(embedding, cell="gru", size=encoder.embedding // 2)

    tables = [sentences(embedding) for embedding in embeddings]
    return StoryEncoder(tables, ages=encoder.ages, times=encoder.times, time_noise=encoder.time_noise)


@build_decoder.register(FactsDecoderSpec)
def _facts(
    decoder: FactsDecoderSpec, column: Column, sources: Mapping[str, Any], *, read_files: bool = True
) -> FactsDecoder:
    assert isinstance(column, LabelColumn)
    named = [name for name, source in sources.items() if isinstance(source, StoryEncoder)]
    story = decoder.attention.over or named[0]
    question = decoder.query or next(name for name in sources if name not in named)
    encoder: StoryEncoder = sources[story]
    attention = Attention(
        sources[question].summary_size,
        encoder.value_size,
        score=decoder.attention.score,
        select=Facts() if decoder.attention.select == "facts" else decoder.attention.select,
        size=decoder.attention.size,
    )
    return FactsDecoder(
        column.size,
        attention,
        story=story,
        question=question,
        hops=decoder.hops,
        read=decoder.read,
        rank=decoder.rank,
        stay=decoder.stay,
        reach=decoder.reach,
        tables=encoder.hops,
        dropout=decoder.dropout,
        fewer=decoder.fewer,
        hop_cost=decoder.hop_cost,
        guide=decoder.attention.guide,
        carry=decoder.carry,
        linear_start=decoder.linear_start,
    )
