"""What reads an input and leaves a memory."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from regard.spec.base import Count, Dropout, Part, Size


class EmbeddingSpec(Part):
    """Shared by everything that reads units of text."""

    embedding: Size = 256
    vectors: str | None = None
    """Pretrained vectors: a text file, one unit and its `embedding` numbers a line."""
    freeze_vectors: bool = False
    dropout: Dropout = 0.0
    embedding_dropout: Dropout | None = None
    """Of the embeddings; the same as `dropout` when absent."""


class RecurrentEncoderSpec(EmbeddingSpec):
    """h_t = cell(h_{t−1}, e(x_t)), read once or from both ends."""

    type: Literal["recurrent"]
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    size: Size = 256
    layers: Count = 1
    bidirectional: bool = True
    residual: bool = False
    activation: Literal["tanh", "sigmoid", "relu", "identity"] = "tanh"
    """Of the rnn cell; gru and lstm have their own."""
    update: Literal["torch", "cho"] = "torch"
    """The gru's convention: torch h' = (1−z)·n + z·h; cho h' = z·n + (1−z)·h."""
    first: Literal["learned", "zero"] = "learned"


class ConvolutionalEncoderSpec(EmbeddingSpec):
    """Gated convolutions over the embeddings and their positions, with residual connections."""

    type: Literal["convolutional"]
    size: Size = 256
    width: Count = 3
    layers: Count = 2


class MeanEncoderSpec(EmbeddingSpec):
    """The embeddings themselves as memory, their mean as summary."""

    type: Literal["mean"]


EncoderSpec = Annotated[
    RecurrentEncoderSpec | ConvolutionalEncoderSpec | MeanEncoderSpec, Field(discriminator="type")
]
