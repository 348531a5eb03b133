"""A list of candidates as vectors, and their scores for a query."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.nn.embedding import Embedding
from regard.nn.encoders.bag import BagEncoder


class ListedCandidates(nn.Module):
    """e_i = φ_i·q with φ_i = Σ_m e(v_im), the sum of the word vectors of candidate i.

    The words belong to the column and are saved with it in the model's folder. The only weights are the
    embedding's.
    """

    ids: Tensor
    lengths: Tensor

    def __init__(self, embedding: Embedding, words: Tokens) -> None:
        super().__init__()
        self.bag = BagEncoder(embedding, position=False)
        self.register_buffer("ids", words.ids, persistent=False)
        self.register_buffer("lengths", words.lengths, persistent=False)

    @classmethod
    def board(cls, state: str, embedding: str = "E_y", *, answer: str = "p(y)", at: str = "") -> list[str]:
        """Equations from the state to p(y); at: the index of states, queries and answers."""
        query = f"q_{at or 'y'}"
        return [
            f"{query} = V_y {state} + b_y",
            "i = 1 … C, n = 1 … M_i     — v_in: word n of candidate i",
            f"φ_i = Σ_n {embedding}[v_in]",
            f"ε_{at}i = φ_i·{query}",
            f"{answer} = softmax_i(ε_{at}i)",
        ]

    def vectors(self) -> Tensor:
        """(C, E)"""
        return self.bag.sums(Tokens(self.ids, self.lengths))

    def forward(self, query: Tensor) -> Tensor:
        """query (B, E) → (B, C)"""
        return query @ self.vectors().T


def best_candidates(logs: Tensor, candidates: Any, most: int) -> dict[str, float]:
    """The most probable candidates of one row and their probabilities, best first; logs (C)."""
    values, places = torch.topk(logs, min(most, len(logs)))
    return {
        candidates[place]: value
        for value, place in zip(values.exp().tolist(), places.tolist(), strict=True)
        if value > 0
    }
