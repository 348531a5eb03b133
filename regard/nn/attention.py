"""Attention: score, select, read."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from regard.nn.memory import Memory
from regard.nn.named_selections import make_selection
from regard.nn.scores import Score, make_score
from regard.nn.selections import Given, Selection, rows_at


@dataclass(frozen=True)
class Look:
    """What T queries saw: context (B, T, D), weights (B, T, S), scores (B, T, S).

    drawn   (B, T, S) what the values were multiplied with, where positions were drawn
    """

    context: Tensor
    weights: Tensor
    scores: Tensor
    drawn: Tensor | None = None


class Attention(nn.Module):
    """Where in a memory to look for the answer to a query, and what is found there.

        e = score(q, keys)          how well each position agrees with the query
        α = select(e)               the distribution over where to look, as marginals
        c = Σ_s α_s · values_s      the expected reading; sigmoid and segments divide it by γ = (1/λ) Σ_s α_s

    A pure call: the keys are computed once per sequence with `keys` and passed in; nothing is left behind. K
    hypotheses about one source are K queries of one memory. Where a memory is `told`, α is what it was told.
    """

    def __init__(
        self,
        query_size: int,
        value_size: int,
        *,
        score: Score | str = "additive",
        select: Selection | str = "softmax",
        size: int | None = None,
        key_size: int | None = None,
    ) -> None:
        super().__init__()
        self.query_size, self.value_size = query_size, value_size
        self.score = (
            make_score(score, query_size, key_size or value_size, size) if isinstance(score, str) else score
        )
        self.select = make_selection(select, query_size) if isinstance(select, str) else select

    def keys(self, memory: Memory) -> Tensor:
        """(B, S, A): the memory as the score wants to see it, computed once per sequence."""
        return self.score.keys(memory.values if memory.keys is None else memory.keys)

    def forward(
        self,
        query: Tensor,
        memory: Memory,
        keys: Tensor | None = None,
        *,
        truth: Tensor | None = None,
        step: int | None = None,
        previous: Tensor | None = None,
        drawing: Tensor | None = None,
    ) -> Look:
        """query (B, T, Q); `truth` and `step` as in `Given`.

        previous   (B, T, S) for a score that remembers
        drawing    (B) the rows that draw, for a selection that does
        """
        scores = self.score(query, self.keys(memory) if keys is None else keys, previous)
        weights = self.select(scores, memory.mask, Given(query, truth, step))
        if memory.told is not None:
            told = rows_at(memory.told, step, scores)
            weights = torch.where((told > 0).any(-1, keepdim=True), told, weights)
        if drawing is not None and self.select.draws:
            drawn = self.select.draw(weights, drawing)
            return Look(drawn @ memory.values, weights, scores, drawn)
        return Look(self.select.reading(weights) @ memory.values, weights, scores)
