"""Heads: the syntactic heads of a memory's positions, as an encoder found them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.nn.selections import Selection
from regard.private import tensor_node


@tensor_node(aside=("selection",))
@dataclass(frozen=True)
class HeadMarginals:
    """Marginals of the heads of N words; the root symbol is position 0.

    scores      (B, N, N+1) of each position as the head of word t; if the heads are given, their marginals
    marginals   (B, N+1, N+1) p(h is the head of m), in the layout of `regard.structures`
    lengths     (B,) numbers of words
    selection   the distribution over heads
    """

    scores: Tensor
    marginals: Tensor
    lengths: Tensor
    selection: Selection

    def heads(self) -> Tensor:
        """(B, N) the heads of the best tree, or each word's best if words choose alone; −1 for padding."""
        weights = self.marginals[:, :, 1:].transpose(1, 2)
        best = self.selection.best_heads(self.scores, weights, self.lengths)
        words = torch.arange(best.shape[1], device=best.device) < self.lengths[:, None]
        return torch.where(words, best, -1)

    def select(self, rows: Tensor) -> HeadMarginals:
        """The marginals of some rows of the batch, (B') int64."""
        return replace(
            self,
            scores=self.scores.index_select(0, rows),
            marginals=self.marginals.index_select(0, rows),
            lengths=self.lengths.index_select(0, rows),
        )
