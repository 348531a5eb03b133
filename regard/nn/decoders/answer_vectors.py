"""Vectors of answers: an answer that is a word of the story shares the embedding of that word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import UNKNOWN
from regard.nn.embedding import Embedding


class AnswerVectors(nn.Module):
    """V r + b, where row a of V is e(w) if answer a is the word w, and a vector of its own otherwise ("yes").

    The vector read from a word then scores that word as the answer directly: nothing has to be learned for
    each answer separately (Sukhbaatar, Szlam, Weston, Fergus 2015: W^T = C_K).

    words   the word id of each answer; None if it is not a word
    """

    rows: Tensor

    def __init__(self, embedding: Embedding, words: Sequence[int | None]) -> None:
        super().__init__()
        self.embedding = embedding
        own = [answer for answer, word in enumerate(words) if word is None]
        places = {answer: embedding.vocabulary + place for place, answer in enumerate(own)}
        rows = [places[answer] if word is None else word for answer, word in enumerate(words)]
        self.answers = rows
        self.register_buffer("rows", torch.tensor(rows, dtype=torch.int64), persistent=False)
        self.own = nn.Parameter(torch.randn(len(own), embedding.size) * embedding.size**-0.5) if own else None
        self.bias = nn.Parameter(torch.zeros(len(words)))

    @property
    def weight(self) -> Tensor:
        """V, (C, E)."""
        known = self.embedding.weight
        return (known if self.own is None else torch.cat([known, self.own]))[self.rows]

    def unit_rows(self) -> dict[str, list[int]]:
        """The answers with a vector of their own (`regard.model.unit_axes`)."""
        known = self.embedding.vocabulary
        own = [answer for answer, row in enumerate(self.answers) if row >= known]
        return ({} if self.own is None else {"own": own}) | {"bias": list(range(len(self.answers)))}

    def forward(self, read: Tensor) -> Tensor:
        """read (B, E) → (B, C)"""
        return nn.functional.linear(read, self.weight, self.bias)


def words_of(answers: Sequence[str], column: Any) -> list[int | None]:
    """The id of each answer as a word of a text column; None if it is not one known word."""
    found = [column.encode(answer).tolist() for answer in answers]
    return [ids[0] if len(ids) == 1 and ids[0] != UNKNOWN else None for ids in found]
