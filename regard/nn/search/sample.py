"""Sampling: outputs drawn from the model's distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from regard.errors import RegardError
from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.search import Request, Search
from regard.nn.search.stepper import Limits, Stepper
from regard.nn.search.token_by_token import TokenChoice, written
from regard.nn.search.tree import SearchTree, tree_of_hypotheses
from regard.parts import Positive, Share, register


@register("search", "sample")
@dataclass(frozen=True)
class Sample(Search):
    """Draws each token from softmax(logits / temperature), optionally from the most probable tokens only.

    samples       outputs for each source, the most probable first
    top_k         sample from the `top_k` most probable tokens only; 0: from all
    top_p         sample from the most probable tokens that together reach this probability (Holtzman 2020);
                  1: from all
    seed          the same seed draws the same outputs; None: a seed from torch's generator
    keys          (B) a number ≥ 0 for each source, default 0 … B−1. The samples of a source depend only on
                  the seed and its key, not on the rest of the batch; sources with the same key get the same
                  random numbers

    Scores are the model's own log-probabilities, at temperature 1 and without top_k and top_p.
    """

    class Options(Search.Options):
        """Tokens drawn from the model's distribution. A stream is continued with these options."""

        temperature: Positive = 1.0
        """Divide the logits by this number."""
        top_k: Annotated[int, Field(ge=0)] = 0
        """Draw from this many most probable units; 0: from all."""
        top_p: Share = 1.0
        """Draw from the most probable units that together have this probability."""

    continues: ClassVar[bool] = True
    draws: ClassVar[bool] = True

    samples: int = 1
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    keys: Sequence[int] | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.temperature <= 0 or self.top_k < 0 or not 0 < self.top_p <= 1:
            raise RegardError(
                f"Sampling needs samples ≥ 1, temperature > 0, top_k ≥ 0 and 0 < top_p ≤ 1; received samples "
                f"{self.samples}, temperature {self.temperature}, top_k {self.top_k}, top_p {self.top_p}."
            )

    @classmethod
    def make(cls, options: Any, request: Request) -> Self:
        return cls(
            samples=request.answers,
            temperature=options.temperature,
            top_k=options.top_k,
            top_p=options.top_p,
            seed=request.seed,
            keys=request.keys,
            limits=request.limits,
        )

    @classmethod
    def named(cls, options: Any) -> str:
        return f"sampling at temperature {options.temperature:g}"

    def traced(self, stepper: Stepper) -> tuple[Hypotheses, SearchTree]:
        found = self(stepper)
        return found, tree_of_hypotheses(found, int(self.limits.of(stepper).last[0]))

    def __call__(self, stepper: Stepper) -> Hypotheses:
        bounds, drawn = self.limits.of(stepper), self._drawn(len(stepper.lengths))
        return _best_first(written(stepper, drawn, bounds, hypotheses=self.samples))

    def choice(self, sources: int) -> TokenChoice | None:
        return self._drawn(sources) if self.samples == 1 else None

    def _drawn(self, sources: int) -> Drawn:
        seed = int(torch.randint(2**62, ())) if self.seed is None else self.seed % 2**63
        keys = range(sources) if self.keys is None else self.keys
        generators = [np.random.default_rng([seed, key]) for key in keys]
        return Drawn(self.samples, self.temperature, self.top_k, self.top_p, generators)


@dataclass(frozen=True)
class Drawn:
    """Inverse transform sampling: the token at which the cumulative probability exceeds a random number. Each
    source has its own generator."""

    samples: int
    temperature: float
    top_k: int
    top_p: float
    generators: Sequence[np.random.Generator] = field(compare=False)
    most_probable: bool = False

    def given(self, unfinished: Unfinished, step: int, count: int) -> Tensor:
        chances = [self.generators[number].random((count, self.samples)) for number in unfinished.numbers]
        return torch.as_tensor(np.stack(chances, 1), device=unfinished.rows.device)  # (count, B', K)

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        assert given is not None
        highest = logits.amax(-1, keepdim=True)  # low temperatures must not overflow
        probabilities = torch.softmax(self._likely((logits - highest) / self.temperature), -1)
        return _invert(probabilities, given)

    def _likely(self, logits: Tensor) -> Tensor:
        """Set the tokens that top_k and top_p exclude to −inf."""
        if self.top_k:
            smallest = logits.topk(min(self.top_k, logits.shape[-1]), -1).values[..., -1:]
            logits = logits.masked_fill(logits < smallest, -torch.inf)
        if self.top_p < 1:
            ordered, order = logits.sort(-1, descending=True)
            probabilities = torch.softmax(ordered, -1)
            before = probabilities.cumsum(-1) - probabilities  # mass of the more probable tokens
            outside = (before >= self.top_p).scatter(-1, order, before >= self.top_p)
            logits = logits.masked_fill(outside, -torch.inf)
        return logits


def _invert(probabilities: Tensor, chances: Tensor) -> Tensor:
    """The token at which the cumulative probabilities (B, K, V) exceed each random number
    (B, K) in [0, 1)."""
    sums = probabilities.double().cumsum(-1)
    words = torch.searchsorted(sums, (chances * sums[..., -1]).unsqueeze(-1), right=True).squeeze(-1)
    return words.clamp(max=probabilities.shape[-1] - 1)


def _best_first(found: Hypotheses) -> Hypotheses:
    order = found.scores.argsort(-1, descending=True)

    def follow(tensor: Tensor) -> Tensor:
        index = order.view(*order.shape, *[1] * (tensor.dim() - 2)).expand_as(tensor)
        return tensor.gather(1, index)

    return replace(
        found,
        tokens=follow(found.tokens),
        lengths=follow(found.lengths),
        scores=follow(found.scores),
        token_scores=follow(found.token_scores),
        attention={name: follow(weights) for name, weights in found.attention.items()},
    )
