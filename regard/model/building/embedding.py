"""Embeddings of text columns, pretrained or fresh."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column, TextColumn
from regard.model.vectors import read_vectors
from regard.nn import Embedding


def build_embedding(part: Any, column: TextColumn, *, read_files: bool) -> Embedding:
    """For the units of `column`; `part` is the encoder's or decoder's spec."""
    dropout = part.dropout if part.embedding_dropout is None else part.embedding_dropout
    if part.vectors is None or not read_files:
        return Embedding(column.size, part.embedding, dropout=dropout, freeze=part.freeze_vectors)
    vectors = read_vectors(part.vectors, column, part.embedding)
    return Embedding(
        column.size, part.embedding, dropout=dropout, vectors=vectors, freeze=part.freeze_vectors
    )


def text_column(column: Column) -> TextColumn:
    assert isinstance(column, TextColumn)
    return column
