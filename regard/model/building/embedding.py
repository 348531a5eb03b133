"""Embeddings of text columns, pretrained or fresh."""

from __future__ import annotations

from typing import Any

from regard.data.columns import Column, SpelledTextColumn, TextColumn
from regard.model.vectors import read_vectors
from regard.nn import Embedding
from regard.nn.spelling import ConvolutionalSpelling, RecurrentSpelling, SpelledEmbedding


def build_embedding(part: Any, column: TextColumn, *, read_files: bool) -> Embedding:
    """For the units of `column`; `part` is the encoder's or decoder's spec."""
    dropout = part.dropout if part.embedding_dropout is None else part.embedding_dropout
    if part.vectors is None or not read_files:
        return Embedding(column.size, part.embedding, dropout=dropout, freeze=part.freeze_vectors)
    vectors = read_vectors(part.vectors, column, part.embedding)
    return Embedding(
        column.size, part.embedding, dropout=dropout, vectors=vectors, freeze=part.freeze_vectors
    )


def build_word_embedding(part: Any, column: TextColumn, *, read_files: bool) -> Embedding | SpelledEmbedding:
    """As `build_embedding`, for an encoder that may read words by their characters too."""
    words = build_embedding(part, column, read_files=read_files)
    words.word_dropout = part.word_dropout
    if part.characters is None:
        return words
    assert isinstance(column, SpelledTextColumn)
    options = part.characters
    signs = Embedding(len(column.characters), options.embedding)
    spelling = (
        ConvolutionalSpelling(signs, options.size, width=options.width)
        if options.type == "convolutional"
        else RecurrentSpelling(signs, options.size)
    )
    return SpelledEmbedding(words, spelling, dropout=words.dropout.p)


def text_column(column: Column) -> TextColumn:
    assert isinstance(column, TextColumn)
    return column
