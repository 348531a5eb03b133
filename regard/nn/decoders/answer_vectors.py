"""Vectors of answers that are, where an answer is a word of the story, those with which that word is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import UNKNOWN
from regard.nn.embedding import Embedding


class AnswerVectors(nn.Module):
    """V r + b, where row a of V is e(w) if answer a is the word w, and a vector of its own if it is none ("yes").

    What is read of a word is then its answer at once: nothing has to be learned about each answer by itself
    (Sukhbaatar, Szlam, Weston, Fergus 2015: W^T = C_K).

    words   of each answer the id of its word, None where it is none
    """

    rows: Tensor

    def __init__(self, embedding: Embedding, words: Sequence[int | None]) -> None:
        super().__init__()
        self.embedding = embedding
        own = [answer for answer, word in enumerate(words) if word is None]
        places = {answer: embedding.vocabulary + place for place, answer in enumerate(own)}
        rows = [places[answer] if word is None else word for answer, word in enumerate(words)]
        self.register_buffer("rows", torch.tensor(rows, dtype=torch.int64), persistent=False)
        self.own = nn.Parameter(torch.randn(len(own), embedding.size) * embedding.size**-0.5) if own else None
        self.bias = nn.Parameter(torch.zeros(len(words)))

    @property
    def weight(self) -> Tensor:
        """V, (C, E)."""
        known = self.embedding.weight
        return (known if self.own is None else torch.cat([known, self.own]))[self.rows]

    def forward(self, read: Tensor) -> Tensor:
        """read (B, E) → (B, C)"""
        return nn.functional.linear(read, self.weight, self.bias)


def words_of(answers: Sequence[str], column: Any) -> list[int | None]:
    """Of each answer the id of its word in a column of texts; None where it is no word, or several."""
    found = [column.encode(answer).tolist() for answer in answers]
    return [ids[0] if len(ids) == 1 and ids[0] != UNKNOWN else None for ids in found]
