"""Embedding: a vector for every id of a vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import torch
from pydantic import model_validator
from torch import Tensor, nn

from regard import parts
from regard.data.batch import PAD, UNKNOWN, Tokens
from regard.errors import RegardError
from regard.nn.path import Replaces
from regard.nn.vectors import read_vectors
from regard.parts import Dropout, Mistakes, Size
from regard.parts.definition import remember
from regard.private import eager

Arrange = Callable[[Tensor], Tensor]
"""A function that reorders the positions (B, S) of a batch, as packing does."""


def as_it_stands(positions: Tensor) -> Tensor:
    return positions


class TokenVectors(Protocol):
    """The interface of an encoder's embedding: vectors (…, size) of tokens."""

    @property
    def size(self) -> int: ...

    def read(self, tokens: Tokens, arrange: Arrange = as_it_stands) -> Tensor: ...


@remember
class Embedding(nn.Module):
    """ids (…) → vectors (…, size); the vector of PAD is zero and stays so.

    vocabulary   number of ids
    size         features of a vector
    dropout      probability that a feature is set to zero in training
    word_dropout probability that a unit is read as UNKNOWN in training, so that its vector is trained
    vectors      (vocabulary, size) pretrained vectors to start from
    freeze       do not train the vectors
    """

    def __init__(
        self,
        vocabulary: int,
        size: int,
        *,
        dropout: float = 0.0,
        word_dropout: float = 0.0,
        vectors: Tensor | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        self.vocabulary, self.size = vocabulary, size
        if vectors is None:
            vectors = torch.randn(vocabulary, size) * size**-0.5
        if vectors.shape != (vocabulary, size):
            raise RegardError(
                f"Pretrained vectors have shape {tuple(vectors.shape)}, expected "
                f"{(vocabulary, size)}: vocabulary and size.",
                fix="Set the embedding's size to that of the vectors.",
            )
        vectors = vectors.detach().clone()
        vectors[PAD] = 0
        self.weight = nn.Parameter(vectors, requires_grad=not freeze)
        self.dropout, self.word_dropout = nn.Dropout(dropout), word_dropout

    def read(self, tokens: Tokens, arrange: Arrange = as_it_stands) -> Tensor:
        """The vectors (…, size) of tokens, reordered by `arrange`."""
        vectors: Tensor = self(arrange(tokens.ids))
        return vectors

    def forward(self, ids: Tensor) -> Tensor:
        if self.training and self.word_dropout:
            forgotten = torch.rand(ids.shape, device=ids.device) < self.word_dropout
            ids = ids.masked_fill(forgotten & (ids != PAD), UNKNOWN)
        vectors: Tensor = self.dropout(looked_up(ids, self.weight))
        return vectors


EMBEDDINGS = Replaces(Embedding, methods=("forward", "read"))
"""The embeddings whose vectors a fast path reads."""
FEW = 256
"""Largest vocabulary for `OfFew`, whose one product then takes less time than torch's sort of the ids."""


def looked_up(ids: Tensor, vectors: Tensor) -> Tensor:
    """ids (…) and vectors (V, E) → (…, E); the vector of padding has no gradient."""
    if ids.is_cuda and len(vectors) <= FEW and eager():
        found: Tensor = OfFew.apply(ids, vectors)
        return found
    return nn.functional.embedding(ids, vectors, padding_idx=PAD)


class OfFew(torch.autograd.Function):
    """`torch.nn.functional.embedding` for a small vocabulary: the gradient is one matrix product."""

    @staticmethod
    def forward(ctx: Any, ids: Tensor, vectors: Tensor) -> Tensor:
        ctx.save_for_backward(ids)
        ctx.count = len(vectors)
        return nn.functional.embedding(ids, vectors)

    @staticmethod
    def backward(ctx: Any, d_found: Tensor) -> tuple[None, Tensor]:
        (ids,) = ctx.saved_tensors
        units = torch.arange(ctx.count, device=ids.device)
        chosen = (ids.flatten() == units[:, None]) & (units != PAD)[:, None]
        with torch.autocast(ids.device.type, enabled=False):
            return None, chosen.to(d_found.dtype) @ d_found.flatten(0, -2)


class EmbeddingOptions(parts.Options):
    """Options of all parts that embed units of text."""

    embedding: Size = 256
    """Size of the embedding vectors."""
    vectors: str | None = None
    """Text file of pretrained vectors, each line a unit and its `embedding` numbers."""
    freeze_vectors: bool = False
    """Do not train the pretrained vectors."""
    dropout: Dropout = 0.0
    """Probability that a feature is set to zero in training."""
    embedding_dropout: Dropout | None = None
    """Dropout of the embeddings; default: the same as `dropout`."""

    @model_validator(mode="after")
    def _vectors_to_freeze(self) -> Any:
        if self.freeze_vectors and self.vectors is None:
            raise ValueError("freeze_vectors needs pretrained vectors. Name their file in `vectors`.")
        return self


def check_dropout(options: Any, mistakes: Mistakes) -> None:
    """Refuse `dropout` beside `embedding_dropout` in a part that applies dropout to embeddings alone."""
    if options.dropout and options.embedding_dropout is not None:
        mistakes.add(
            "dropout has no effect: it applies to embeddings alone here, and embedding_dropout overrides it.",
            "dropout",
            fix="Leave one of the two out.",
        )


def build_embedding(options: Any, column: Any, *, read_files: bool) -> Embedding:
    """The embedding of a text column's units, pretrained or randomly initialized."""
    dropout = options.dropout if options.embedding_dropout is None else options.embedding_dropout
    vectors = None
    if options.vectors is not None and read_files:
        vectors = read_vectors(options.vectors, column, options.embedding)
    return Embedding(
        column.size, options.embedding, dropout=dropout, vectors=vectors, freeze=options.freeze_vectors
    )


def vectors_note(options: EmbeddingOptions) -> str:
    """Where pretrained vectors come from, and whether they stay as they are; "" for vectors that are learned anew."""
    if not options.vectors:
        return ""
    return f" from {options.vectors}{', which stay as they are' if options.freeze_vectors else ''}"
