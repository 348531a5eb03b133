"""Spec + columns → Network: the only place where names in a spec become modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.columns import Column, LabelColumn, TagsColumn, TextColumn
from regard.errors import RegardError
from regard.model.network import Network, SamplingPlan
from regard.model.vectors import read_vectors
from regard.nn import (
    Attention,
    ConvolutionalEncoder,
    Embedding,
    LabelDecoder,
    MeanEncoder,
    Objective,
    RecurrentDecoder,
    RecurrentEncoder,
    TagsDecoder,
)
from regard.nn.selections import Local
from regard.spec import (
    AttentionSpec,
    ConvolutionalEncoderSpec,
    EncoderSpec,
    LabelDecoderSpec,
    MeanEncoderSpec,
    RecurrentDecoderSpec,
    RecurrentEncoderSpec,
    Spec,
    TagsDecoderSpec,
    attentions,
)


def build_network(spec: Spec, columns: Mapping[str, Column], *, read_files: bool = True) -> Network:
    """The network a spec describes, with fresh weights.

    read_files   False leaves pretrained vectors unread: the weights are about to be loaded or only counted
    """
    encoders = {
        name: build_encoder(spec.encoder[name], _text(columns, name), read_files=read_files)
        for name in spec.inputs
    }
    decoders: dict[str, Any] = {}
    for name, decoder in spec.decoder.items():
        sources = {source: encoders[source] for source in decoder.over or tuple(spec.inputs)}
        if isinstance(decoder, RecurrentDecoderSpec):
            decoders[name] = _recurrent_decoder(decoder, _text(columns, name), sources, read_files=read_files)
        elif isinstance(decoder, LabelDecoderSpec):
            decoders[name] = _label_decoder(decoder, columns[name], sources)
        else:
            decoders[name] = _tags_decoder(decoder, columns[name], sources)
    return Network(
        encoders,
        decoders,
        over={name: decoder.over or tuple(spec.inputs) for name, decoder in spec.decoder.items()},
        truths={name: truth_columns(spec, name) for name in spec.decoder},
        weights={name: decoder.weight for name, decoder in spec.decoder.items()},
        sampling={
            name: SamplingPlan(decoder.scheduled_sampling.share, decoder.scheduled_sampling.steps)
            for name, decoder in spec.decoder.items()
            if isinstance(decoder, RecurrentDecoderSpec) and decoder.scheduled_sampling
        },
    )


def build_encoder(encoder: EncoderSpec, column: TextColumn, *, read_files: bool = True) -> Any:
    embedding = _embedding(encoder, column, read_files=read_files)
    if isinstance(encoder, RecurrentEncoderSpec):
        return RecurrentEncoder(
            embedding,
            cell=encoder.cell,
            size=encoder.size,
            layers=encoder.layers,
            bidirectional=encoder.bidirectional,
            dropout=encoder.dropout,
            residual=encoder.residual,
            activation=encoder.activation,
            update=encoder.update,
            first=encoder.first,
        )
    if isinstance(encoder, ConvolutionalEncoderSpec):
        return ConvolutionalEncoder(
            embedding, size=encoder.size, width=encoder.width, layers=encoder.layers, dropout=encoder.dropout
        )
    if isinstance(encoder, MeanEncoderSpec):
        return MeanEncoder(embedding)
    raise TypeError(encoder)


def truth_columns(spec: Spec, output: str) -> dict[str, str]:
    """{input: truth column} for every input whose alignment with this output the data know."""
    found: dict[str, str] = {}
    for name, truth in spec.truth.items():
        source, target = truth.of or (next(iter(spec.inputs)), next(iter(spec.outputs)))
        wanted = [
            attention.truth
            for attention in attentions(spec.decoder[output])
            if attention.over in (None, source)
        ]
        if target == output and (source not in found or name in wanted):
            found[source] = name
    return found


def _recurrent_decoder(
    decoder: RecurrentDecoderSpec, column: TextColumn, sources: Mapping[str, Any], *, read_files: bool
) -> RecurrentDecoder:
    if decoder.tie == "all":
        embedding = next(iter(sources.values())).embedding
    else:
        embedding = _embedding(decoder, column, read_files=read_files)
    looks = {
        attention.over or next(iter(sources)): _attention(attention, decoder.size, sources)
        for attention in decoder.attention
    }
    guide = max((attention.guide for attention in decoder.attention), default=0.0)
    return RecurrentDecoder(
        embedding,
        sources,
        cell=decoder.cell,
        size=decoder.size,
        layers=decoder.layers,
        condition=decoder.condition or (("start", "attention") if looks else ("start",)),
        attention=looks or None,
        looking=decoder.attention[0].state if decoder.attention else "previous",
        deep=decoder.deep,
        tied=decoder.tie != "none",
        dropout=decoder.dropout,
        residual=decoder.residual,
        activation=decoder.activation,
        update=decoder.update,
        objective=Objective(smoothing=decoder.label_smoothing, guide=guide),
    )


def _label_decoder(decoder: LabelDecoderSpec, column: Column, sources: Mapping[str, Any]) -> LabelDecoder:
    assert isinstance(column, LabelColumn)
    looks = None
    if decoder.attention is not None:
        over = decoder.attention.over or next(iter(sources))
        size = decoder.attention.size or sources[over].value_size
        looks = {over: _attention(decoder.attention, size, sources)}
    return LabelDecoder(
        column.size,
        sources,
        attention=looks,
        dropout=decoder.dropout,
        class_weights=_class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )


def _tags_decoder(decoder: TagsDecoderSpec, column: Column, sources: Mapping[str, Any]) -> TagsDecoder:
    assert isinstance(column, TagsColumn)
    return TagsDecoder(
        column.size,
        sources,
        of=column.of[0],
        dropout=decoder.dropout,
        class_weights=_class_weights(decoder.class_weights, column.classes, column.counts, column.name),
    )


def _attention(attention: AttentionSpec, query_size: int, sources: Mapping[str, Any]) -> Attention:
    over = attention.over or next(iter(sources))
    select: Any = attention.select
    if attention.select == "local":
        select = Local(query_size, window=attention.window, monotonic=attention.centre == "monotonic")
    return Attention(
        query_size, sources[over].value_size, score=attention.score, select=select, size=attention.size
    )


def _embedding(part: Any, column: TextColumn, *, read_files: bool) -> Embedding:
    dropout = part.dropout if part.embedding_dropout is None else part.embedding_dropout
    if part.vectors is None or not read_files:
        return Embedding(column.size, part.embedding, dropout=dropout, freeze=part.freeze_vectors)
    vectors = read_vectors(part.vectors, column, part.embedding)
    return Embedding(
        column.size, part.embedding, dropout=dropout, vectors=vectors, freeze=part.freeze_vectors
    )


def _text(columns: Mapping[str, Column], name: str) -> TextColumn:
    column = columns[name]
    assert isinstance(column, TextColumn)
    return column


def _class_weights(
    wanted: Mapping[str, float] | str | None, classes: list[str], counts: list[int], name: str
) -> Tensor | None:
    """(C,): as given, 1 where not named; balanced: rows / (classes · rows of the class)."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        total = torch.tensor(counts, dtype=torch.float32).clamp(min=1)
        return total.sum() / (len(classes) * total)
    strangers = [label for label in wanted if label not in classes]
    if strangers:
        raise RegardError(
            f"{strangers[0]!r} is not a class of {name}.",
            where=f"decoder.{name}.class_weights",
            fix=f"The classes are {', '.join(classes)}.",
        )
    return torch.tensor([float(wanted.get(label, 1.0)) for label in classes])


def count_parameters(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
