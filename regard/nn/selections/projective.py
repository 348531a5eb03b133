"""One head for each word, in a tree without crossing arcs (syntactic attention, Kim et al. 2017)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.estimates.estimate import Latent, estimate_options, make_estimate
from regard.nn.selections.estimated import EstimatedOptions
from regard.nn.selections.selection import NOTHING, Given, Selection
from regard.nn.symbols import LookSymbols
from regard.parts import register
from regard.structures import ProjectiveTree, SpanningTree


@register("selection", "projective")
class Projective(Selection):
    """p(head of t is s) under p(tree) ∝ exp Σ_t e[t, head(t)], over projective trees: Eisner's algorithm.

    The T queries are the words 1 … N, the S positions the root symbol (0) and the words.
    """

    class Options(EstimatedOptions):
        """One head for each word, in a tree without crossing arcs: Eisner's algorithm."""

    joint = "queries"
    needs = frozenset({"words"})
    unguided = "it selects the heads of a tree, not an alignment"
    trees: type[ProjectiveTree] | type[SpanningTree] = ProjectiveTree

    @classmethod
    def equations(cls, options: Any, look: LookSymbols) -> list[str]:
        return tree_equations("projective", "by Eisner's algorithm", look, options.estimate)

    def __init__(self, *, estimate: Any = "marginals", warmup: int = 0) -> None:
        super().__init__()
        self.estimate = make_estimate(estimate, warmup)

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        lengths = mask.sum(-1) - 1  # without the root symbol
        if self.estimate is None:
            return by_word(self.trees(by_head(scores), lengths=lengths).marginals)
        latent = Latent(
            structure=lambda scores: self.trees(by_head(scores), lengths=lengths),
            weights=by_word,
            score=lambda scores, heads: torch.where(heads > 0, scores * heads, 0.0).flatten(-2).sum(-1),
            dims=2,
        )
        found: Tensor = self.estimate(latent, scores)
        return found

    def best_heads(self, scores: Tensor, weights: Tensor, lengths: Tensor) -> Tensor:
        tree = self.trees(by_head(scores.detach()), lengths=lengths)
        return tree.heads(tree.mode)


def tree_equations(trees: str, how: str, look: LookSymbols, estimate: Any = "marginals") -> list[str]:
    """Equations of the weights from all trees of a kind: `step` is the word, `index` its head,
    0 the root symbol."""
    word, head, energy = look.step, look.index, look.letters[0]
    lines = [
        f"τ ∈ {trees}({look.memory.length})     — all such trees with one root; τ_{word}: the head of {word}",
        f"φ(τ) = Σ_{word} {energy}_{{{word},τ_{word}}}",
    ]
    options = estimate_options(estimate)
    chosen = options.part
    if chosen.plain:
        return [*lines, f"{look.weight} = Σ_{{τ: τ_{word} = {head}}} exp(φ(τ)) / Σ_τ exp(φ(τ))     — {how}"]
    if chosen.found == "mean":
        return [
            *lines,
            f"μ = {chosen.function(options)}_τ(φ(τ))     — {chosen.note}",
            f"{look.weight} = μ[{word}, {head}]",
        ]
    return [
        *lines,
        f"ω = {chosen.function(options)}_τ(φ(τ))     — the best tree",
        f"{look.weight} = [ω_{word} = {head}]     — {chosen.note}",
    ]


def by_head(scores: Tensor) -> Tensor:
    """Scores (B, N, N+1) of words' heads → arcs (B, N+1, N+1), arcs[h, m],
    in the layout of `regard.structures`."""
    return torch.nn.functional.pad(scores.transpose(1, 2), (1, 0))


def by_word(arcs: Tensor) -> Tensor:
    """The inverse of `by_head`."""
    return arcs[..., 1:].transpose(-2, -1)
