"""Embedding: a vector for every id of a vocabulary."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from regard.data.batch import PAD
from regard.errors import RegardError


class Embedding(nn.Module):
    """ids (…) → vectors (…, size); the vector of PAD is zero and stays so.

    vocabulary   number of ids
    size         features of a vector
    dropout      probability that a feature is set to zero in training
    vectors      (vocabulary, size) pretrained vectors to start from
    freeze       keep the vectors as they are
    """

    def __init__(
        self,
        vocabulary: int,
        size: int,
        *,
        dropout: float = 0.0,
        vectors: Tensor | None = None,
        freeze: bool = False,
    ) -> None:
        super().__init__()
        self.vocabulary, self.size = vocabulary, size
        if vectors is None:
            vectors = torch.randn(vocabulary, size) * size**-0.5
        if vectors.shape != (vocabulary, size):
            raise RegardError(
                f"Pretrained vectors have shape {tuple(vectors.shape)}, the vocabulary and size ask for "
                f"{(vocabulary, size)}.",
                fix="Set the embedding's size to that of the vectors.",
            )
        vectors = vectors.detach().clone()
        vectors[PAD] = 0
        self.weight = nn.Parameter(vectors, requires_grad=not freeze)
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids: Tensor) -> Tensor:
        vectors: Tensor = self.dropout(nn.functional.embedding(ids, self.weight, padding_idx=PAD))
        return vectors
