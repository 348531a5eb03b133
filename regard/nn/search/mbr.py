"""Minimum Bayes risk: of many outputs, the one that is most like all of them (Kumar and Byrne 2004).

    ŷ = argmax_y Σ_y′ p(y′ | x) utility(y, y′)

The most probable output may be unlike most outputs. Here each candidate is compared with all others by a metric, as if
they were its references. Samples stand for p, each with the same weight; the outputs of a beam are weighted by their
probabilities. If the beam holds all outputs, ŷ is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from regard.errors import RegardError
from regard.nn.search.beam import Beam
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.sample import Sample
from regard.nn.search.search import Search
from regard.nn.search.stepper import Stepper
from regard.parts import Positive, names, nearest, part, register

WHERE = "search.utility"


@register("search", "mbr")
class MinimumBayesRisk(Search):
    """The candidate with the highest expected utility; scores stay log-probabilities."""

    class Options(Search.Options):
        """Of many outputs, the one that is most like all of them: minimum Bayes risk."""

        candidates: Annotated[int, Field(ge=1, le=10_000)] = 16
        """Number of outputs to compare."""
        drawn: Literal["samples", "beam"] = "samples"
        """Where they come from: drawn from the model, or the best of a beam, weighted by their probabilities."""
        utility: str = "chrf"
        """The metric that compares two outputs: chrf, bleu, token_error (1 − errors), or another metric of texts."""
        temperature: Positive = 1.0
        """Of the samples, as of `method: sample`."""

    draws: ClassVar[bool] = True
    chosen_by: ClassVar[tuple[str, ...]] = ("utility", "candidates", "drawn")

    @classmethod
    def refused(cls, options: Any, answers: int) -> str:
        few = answers > options.candidates
        return (
            f"{options.candidates} candidates cannot give {answers} answers. Raise candidates." if few else ""
        )

    @classmethod
    def named(cls, options: Any) -> str:
        source = "samples" if options.drawn == "samples" else "outputs of a beam"
        return f"minimum Bayes risk over {options.candidates} {source} by {options.utility}"

    def __call__(self, stepper: Stepper) -> Hypotheses:
        compare, found = utility(self.options.utility), self._candidates(stepper)
        weights = self._weights(found).tolist()
        orders = [
            self._order(row, found, weights[row], compare)[: self.request.answers]
            for row in range(len(found.lengths))
        ]
        most = max(map(len, orders), default=0)
        empty = found.lengths.shape[1]  # one more hypothesis, which does not exist
        order = [[*one, *[empty] * (most - len(one))] for one in orders]
        return found.ranked(torch.tensor(order, device=found.lengths.device))

    def _candidates(self, stepper: Stepper) -> Hypotheses:
        count, request = self.options.candidates, self.request
        if self.options.drawn == "beam":
            return Beam(size=count, best=count, limits=request.limits)(stepper)
        return Sample(
            samples=count,
            temperature=self.options.temperature,
            seed=request.seed,
            keys=request.keys,
            limits=request.limits,
        )(stepper)

    def _weights(self, found: Hypotheses) -> Tensor:
        """(B, K) of the candidates; 0 where there is none."""
        there = found.lengths > 0
        if self.options.drawn == "samples":
            return there.double()
        return torch.softmax(found.scores.double().masked_fill(~there, -torch.inf), -1)

    def _order(
        self, row: int, found: Hypotheses, weights: Sequence[float], compare: Callable[[str, str], float]
    ) -> list[int]:
        """The candidates of a source, each text once, the highest expected utility first; of equal ones the most
        probable."""
        spell = self.request.spell or _numbers
        first: dict[str, int] = {}
        shares: dict[str, float] = {}
        for rank, length in enumerate(found.lengths[row].tolist()):
            if length == 0:
                continue
            text = spell(row, found.content(row, rank))
            first.setdefault(text, rank)
            shares[text] = shares.get(text, 0.0) + weights[rank]
        worth = {text: sum(share * compare(text, other) for other, share in shares.items()) for text in first}
        scores = found.scores[row].tolist()
        return sorted(first.values(), key=_by({first[one]: value for one, value in worth.items()}, scores))


def _by(worth: dict[int, float], scores: Sequence[float]) -> Callable[[int], tuple[float, float]]:
    return lambda rank: (-worth[rank], -scores[rank])


def _numbers(row: int, ids: Sequence[int]) -> str:
    return " ".join(map(str, ids))


def utility(name: str) -> Callable[[str, str], float]:
    """How good a text is if another is the truth, by the metric of this name; errors count as 1 − errors."""
    metric = part("metric", name)
    made: Any = None if metric is None else metric.named(name)
    if made is None:
        raise RegardError(f"there is no metric {name!r}.", where=WHERE, fix=nearest(name, names("metric")))
    if not hasattr(made, "rows") or (made.suits and "text" not in made.suits):
        raise RegardError(
            f"{name} does not compare two texts.", where=WHERE, fix="Choose chrf, bleu, token_error or exact."
        )
    known: dict[tuple[str, str], float] = {}

    def compare(text: str, truth: str) -> float:
        if (text, truth) not in known:
            (value,) = made.rows([text], [[truth]])
            known[text, truth] = value if made.higher_is_better else 1 - value
        return known[text, truth]

    return compare
