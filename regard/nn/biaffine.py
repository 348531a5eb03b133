"""Biaffine scores of all pairs among N+1 positions (Dozat and Manning 2017)."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Biaffine(nn.Module):
    """s[h, m, c] = x_hᵀ U_c y_m + w_c·x_h + v_c·y_m + b_c, with x = f(W_x z), y = f(W_y z), f a leaky ReLU.

    size       features of x and y
    outputs    C

    U, w, v and b start at 0, so that every structure is equally likely before training.
    """

    def __init__(self, input_size: int, size: int, outputs: int = 1, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads, self.dependents = nn.Linear(input_size, size), nn.Linear(input_size, size)
        self.weight = nn.Parameter(torch.zeros(outputs, size + 1, size + 1))
        self.dropout = nn.Dropout(dropout)

    def sides(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """x and y of vectors (..., D), each with a 1 at the end: (..., size + 1)."""
        found = []
        for layer in (self.heads, self.dependents):
            features = self.dropout(nn.functional.leaky_relu(layer(vectors), 0.1))
            found.append(torch.cat([features, torch.ones_like(features[..., :1])], -1))
        return found[0], found[1]

    def table(self, x: Tensor, y: Tensor) -> Tensor:
        """Scores of all pairs: x (B, H, size + 1), y (B, M, size + 1) → (B, C, H, M)."""
        return torch.einsum("bhi,cij,bmj->bchm", x, self.weight, y)

    def pairs(self, x: Tensor, y: Tensor) -> Tensor:
        """Scores of the pairs (x_n, y_n) only: x and y (B, N, size + 1) → (B, N, C)."""
        projected = torch.einsum("bni,cij->bncj", x, self.weight)
        return (projected * y.unsqueeze(-2)).sum(-1)
