"""One head for each word, all heads one tree whose arcs do not cross (syntactic attention, Kim et al. 2017)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.selections.selection import NOTHING, Given, Selection
from regard.parts import register
from regard.structures import ProjectiveTree, SpanningTree


@register("selection", "projective")
class Projective(Selection):
    """p(head of t is s) under p(tree) ∝ exp Σ_t e[t, head(t)], over projective trees: Eisner's algorithm.

    The T queries are the words 1 … N, the S positions the root symbol (0) and the words.
    """

    joint = "queries"
    needs = frozenset({"words"})
    unguided = "the heads of a tree have no alignment"
    trees: type[ProjectiveTree] | type[SpanningTree] = ProjectiveTree

    @classmethod
    def equation(cls, options: Any, query: str) -> str:
        return "p(r → j) = E[head(j) = r], p(tree) ∝ exp Σ_j s_head(j),j over projective trees (Eisner)"

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        lengths = mask.sum(-1) - 1  # the root symbol is no word
        return by_word(self.trees(by_head(scores), lengths=lengths).marginals)

    def best_heads(self, scores: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
        tree = self.trees(by_head(scores.detach()), lengths=lengths)
        return tree.heads(tree.mode)


def by_head(scores: Tensor) -> Tensor:
    """Scores (B, N, N+1) of words' heads → arcs (B, N+1, N+1), arcs[h, m], as `regard.structures` has them."""
    return torch.nn.functional.pad(scores.transpose(1, 2), (1, 0))


def by_word(arcs: Tensor) -> Tensor:
    """The inverse of `by_head`."""
    return arcs[:, :, 1:].transpose(1, 2)
