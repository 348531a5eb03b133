"""The output layer: from the readout of a decoder to words and their loss."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from regard.nn.embedding import Embedding
from regard.nn.path import faster


class Output(nn.Module):
    """logits = V o + b.

    tied   V is the embedding's own tensor (Press & Wolf 2017); o must then have the embedding's size
    """

    def __init__(self, size: int, vocabulary: int, *, tied: Embedding | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(size)
        if tied is None:
            self.weight = nn.Parameter(torch.empty(vocabulary, size).uniform_(-bound, bound))
        else:
            self.weight = tied.weight
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, rows: Tensor) -> Tensor:
        found: Tensor | None = None
        if not torch.is_grad_enabled():
            found = faster("output.logits", rows.device, self, rows)
        return nn.functional.linear(rows, self.weight, self.bias) if found is None else found

    def distilled(self, rows: Tensor, probabilities: Tensor) -> Tensor:
        """rows (N, O), another model's probabilities p (N, V) → −Σ_n Σ_v p log q, with q from this layer."""
        return -(probabilities * torch.log_softmax(self(rows), -1)).sum()

    @torch.no_grad()
    def costs(self, rows: Tensor, targets: Tensor) -> Tensor:
        """rows (N, O), targets (N) → −log p of each target, (N), without a gradient."""
        return nn.functional.cross_entropy(self(rows), targets, reduction="none")

    def loss(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """rows (N, O), targets (N) → the sum to minimize, and the sum of −log p(target).

        With smoothing ε, the target distribution is (1 − ε)·one-hot + ε/V.
        """
        found: tuple[Tensor, Tensor] | None = None
        if torch.is_grad_enabled():
            found = faster("output.loss", rows.device, self, rows, targets, smoothing)
        if found is not None:
            return found
        logits = self(rows)
        likelihood = nn.functional.cross_entropy(logits, targets, reduction="sum")
        if smoothing == 0:
            return likelihood, likelihood.detach()
        smooth = -(logits.mean(-1) - logits.logsumexp(-1)).sum()
        return (1 - smoothing) * likelihood + smoothing * smooth, likelihood.detach()

    def loss_of_some(self, rows: Tensor, targets: Tensor, *, smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """`loss`, without the rows whose target is negative."""
        found: tuple[Tensor, Tensor] | None = None
        if torch.is_grad_enabled():
            found = faster("output.loss_of_some", rows.device, self, rows, targets, smoothing)
        if found is not None:
            return found
        real = targets >= 0
        return self.loss(rows[real], targets[real], smoothing=smoothing)
