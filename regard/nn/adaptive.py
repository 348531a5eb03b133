"""The adaptive output layer: frequent units at full width, rare ones in classes of their own (Grave 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

NARROWER = 4
"""Factor by which the number of features shrinks from one class of rarer units to the next."""


CUTOFFS = (2000, 10000)
"""Default cutoffs of the vocabulary, in units."""


class AdaptiveOutput(nn.Module):
    """Adaptive softmax. A vocabulary is sorted by frequency and split at the cutoffs:

        p(y) = softmax(H o)[y]                               for the first C units
        p(y) = softmax(H o)[C + k] · softmax(V_k P_k o)[y]   for class k, P_k projecting to size / 4^k

    Most predictions then need only the product with the head H, which has C rows plus one per class.
    """

    def __init__(self, size: int, vocabulary: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            size, vocabulary, list(cutoffs), div_value=NARROWER, head_bias=True
        )

    def unit_rows(self) -> dict[str, list[int | str]]:
        """The units of the head and of each class (`regard.model.unit_axes`)."""
        first, *ends = self.softmax.cutoffs
        head: list[int | str] = [*range(first), *(f"class {k}" for k in range(len(ends)))]
        rows = {"softmax.head.weight": head, "softmax.head.bias": head}
        for k, (start, end) in enumerate(pairwise(self.softmax.cutoffs)):
            rows[f"softmax.tail.{k}.1.weight"] = list(range(start, end))
        return rows

    def log_probabilities(self, rows: Tensor) -> Tensor:
        """rows (N, O) → (N, V)"""
        found: Tensor = self.softmax.log_prob(rows)
        return found

    def costs(self, rows: Tensor, targets: Tensor) -> Tensor:
        """rows (N, O), targets (N) → −log p of each target, (N)."""
        found: Tensor = -self.softmax(rows, targets).output
        return found

    def loss(self, rows: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """The sum to minimize, and the sum of −log p(target), which is the same."""
        total = self.costs(rows, targets).sum()
        return total, total.detach()


def probabilities(layer: nn.Module, rows: Tensor) -> Tensor:
    """log p of every unit, (N, V), from a full or an adaptive output layer."""
    if isinstance(layer, AdaptiveOutput):
        return layer.log_probabilities(rows)
    return torch.log_softmax(layer(rows), -1)
