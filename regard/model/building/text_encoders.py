"""Encoders of text."""

from __future__ import annotations

from regard.data.columns import Column
from regard.model.building.embedding import build_word_embedding, text_column
from regard.model.building.parts import build_encoder
from regard.nn import ConvolutionalEncoder, MeanEncoder, RecurrentEncoder
from regard.spec import ConvolutionalEncoderSpec, MeanEncoderSpec, RecurrentEncoderSpec


@build_encoder.register(RecurrentEncoderSpec)
def _recurrent(encoder: RecurrentEncoderSpec, column: Column, *, read_files: bool = True) -> RecurrentEncoder:
    return RecurrentEncoder(
        build_word_embedding(encoder, text_column(column), read_files=read_files),
        cell=encoder.cell,
        size=encoder.size,
        layers=encoder.layers,
        bidirectional=encoder.bidirectional,
        dropout=encoder.dropout,
        residual=encoder.residual,
        activation=encoder.activation,
        update=encoder.update,
        first=encoder.first,
        values=encoder.values,
    )


@build_encoder.register(ConvolutionalEncoderSpec)
def _convolutional(
    encoder: ConvolutionalEncoderSpec, column: Column, *, read_files: bool = True
) -> ConvolutionalEncoder:
    return ConvolutionalEncoder(
        build_word_embedding(encoder, text_column(column), read_files=read_files),
        size=encoder.size,
        width=encoder.width,
        layers=encoder.layers,
        dropout=encoder.dropout,
    )


@build_encoder.register(MeanEncoderSpec)
def _mean(encoder: MeanEncoderSpec, column: Column, *, read_files: bool = True) -> MeanEncoder:
    embedding = build_word_embedding(encoder, text_column(column), read_files=read_files)
    return MeanEncoder(embedding, scaled=encoder.scaled)
