"""A bag of words that remembers, a little, where each word stood."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.data.batch import Tokens
from regard.nn.embedding import Embedding
from regard.nn.encoders.base import Encoder
from regard.nn.memory import Memory


def position_encoding(lengths: Tensor, longest: int, size: int) -> Tensor:
    """l_jd = (1 − j/n) − (d/D)(1 − 2j/n), j = 1 … n and d = 1 … D (Sukhbaatar et al. 2015, section 4.1).

    lengths   (B) n; the result is (B, longest, size), zero beyond n
    """
    places = torch.arange(1, longest + 1, device=lengths.device)
    share = places / lengths.clamp(min=1).unsqueeze(-1)  # (B, L)
    features = torch.arange(1, size + 1, device=lengths.device) / size  # (D)
    weights = (1 - share).unsqueeze(-1) - features * (1 - 2 * share).unsqueeze(-1)  # (B, L, D)
    return weights * (places <= lengths.unsqueeze(-1)).unsqueeze(-1)


class BagEncoder(Encoder):
    """values e(x_j), summary Σ_j l_j ⊙ e(x_j); without `position` all l_j are 1."""

    def __init__(self, embedding: Embedding, *, position: bool = True) -> None:
        super().__init__()
        self.embedding, self.position = embedding, position
        self.value_size = self.summary_size = embedding.size

    def forward(self, tokens: Tokens) -> Memory:
        values: Tensor = self.embedding(tokens.ids)  # (B, L, D), zero at PAD
        if not self.position:
            return Memory(values, tokens.mask, values.sum(1))
        weights = position_encoding(tokens.lengths, tokens.ids.shape[1], self.embedding.size)
        return Memory(values, tokens.mask, (values * weights).sum(1))
