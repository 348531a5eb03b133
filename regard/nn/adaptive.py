"""The adaptive output layer: frequent units at full width, rare ones in classes of their own (Grave 2017)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

NARROWER = 4
"""Each class of rarer units is read from so many times fewer features than the one before."""


CUTOFFS = (2000, 10000)
"""Numbers of units at which a vocabulary is cut, where the spec names none."""


class AdaptiveOutput(nn.Module):
    """The units are sorted by frequency, as a vocabulary is, and cut at the cutoffs:

        p(y) = softmax(H o)[y]                               of the first C units
        p(y) = softmax(H o)[C + k] · softmax(V_k P_k o)[y]   of the units of class k, P_k projecting to size / 4^k

    Most predictions then cost one product with the head, which has C rows and one for each class.
    """

    def __init__(self, size: int, vocabulary: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(
            size, vocabulary, list(cutoffs), div_value=NARROWER, head_bias=True
        )

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
    """log p of every unit, (N, V), of a full or an adaptive output layer."""
    if isinstance(layer, AdaptiveOutput):
        return layer.log_probabilities(rows)
    return torch.log_softmax(layer(rows), -1)
