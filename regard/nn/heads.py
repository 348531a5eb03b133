"""Heads: who is whose head in a memory, as an encoder found it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from regard.nn.selections import Selection


@dataclass(frozen=True)
class HeadMarginals:
    """N words and the root symbol at position 0.

    scores      (B, N, N+1) of word t and each position as its head; for given heads their marginals
    marginals   (B, N+1, N+1) p(h is the head of m), as `regard.structures` has them
    lengths     (B,) numbers of words
    selection   the distribution they come from
    """

    scores: Tensor
    marginals: Tensor
    lengths: Tensor
    selection: Selection

    def heads(self) -> Tensor:
        """(B, N) the best heads: the best tree's, or each word's where words choose alone; −1 beyond the length."""
        weights = self.marginals[:, :, 1:].transpose(1, 2)
        best = self.selection.best_heads(self.scores, weights, self.lengths)
        words = torch.arange(best.shape[1], device=best.device) < self.lengths[:, None]
        return torch.where(words, best, -1)

    def select(self, rows: Tensor) -> HeadMarginals:
        """Those of some rows of the batch, (B') int64."""
        return replace(
            self,
            scores=self.scores.index_select(0, rows),
            marginals=self.marginals.index_select(0, rows),
            lengths=self.lengths.index_select(0, rows),
        )
