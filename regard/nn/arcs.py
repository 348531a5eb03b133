"""Arcs: who is whose head in a memory, as an encoder found it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from regard.structures import ProjectiveTree, SpanningTree

ParentSelection = Literal["softmax", "projective", "spanning", "given"]


@dataclass(frozen=True)
class Arcs:
    """Who is whose head: N words and the root symbol at position 0, as in `regard.structures`.

    scores      (B, N+1, N+1) arcs[h, m]; for given heads their marginals
    marginals   (B, N+1, N+1) p(h is the head of m)
    lengths     (B,) numbers of words
    select_by   the distribution they come from
    """

    scores: Tensor
    marginals: Tensor
    lengths: Tensor
    select_by: ParentSelection

    def heads(self) -> Tensor:
        """(B, N) the best heads: the best tree's, or each word's where words choose alone; −1 beyond the length."""
        if self.select_by in ("projective", "spanning"):
            tree = (ProjectiveTree if self.select_by == "projective" else SpanningTree)(
                self.scores.detach(), lengths=self.lengths
            )
            return tree.heads(tree.mode)
        best = self.marginals[:, :, 1:].argmax(1)  # (B, N)
        words = torch.arange(best.shape[1], device=best.device) < self.lengths[:, None]
        return torch.where(words, best, -1)

    def select(self, rows: Tensor) -> Arcs:
        """The arcs of some rows of the batch, (B') int64."""
        return Arcs(
            self.scores.index_select(0, rows),
            self.marginals.index_select(0, rows),
            self.lengths.index_select(0, rows),
            self.select_by,
        )
