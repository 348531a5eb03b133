"""Sampling: outputs drawn from the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from regard.errors import RegardError
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.stepper import Stepper
from regard.nn.search.walk import walk


@dataclass(frozen=True)
class Sample:
    """Draws each word from softmax(logits / temperature), among the likeliest only where asked.

    samples       outputs for each source, the most probable first
    top           only the `top` most probable words; 0 for all
    nucleus       only the most probable words that together reach this probability (Holtzman 2020); 1 for all
    seed          the same seed draws the same outputs
    rows          (B) a number for each source, 0 … B−1 when absent: with the seed it determines what is drawn for the
                  source, whatever stands beside it in the batch

    Scores are the model's own log-probabilities, at temperature 1 and before anything is left out.
    """

    samples: int = 1
    temperature: float = 1.0
    top: int = 0
    nucleus: float = 1.0
    seed: int | None = None
    rows: Sequence[int] | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.temperature <= 0 or self.top < 0 or not 0 < self.nucleus <= 1:
            raise RegardError(
                f"Sampling needs samples ≥ 1, temperature > 0, top ≥ 0 and 0 < nucleus ≤ 1; received samples "
                f"{self.samples}, temperature {self.temperature}, top {self.top}, nucleus {self.nucleus}."
            )

    def __call__(self, stepper: Stepper) -> Hypotheses:
        rows = range(len(stepper.lengths)) if self.rows is None else self.rows
        seed = torch.seed() if self.seed is None else self.seed
        generators = [np.random.default_rng([seed % 2**63, row]) for row in rows]

        def draw(logits: Tensor, _: int) -> Tensor:
            probabilities = torch.softmax(self._likely(logits / self.temperature), -1)
            chances = np.stack([generator.random(self.samples) for generator in generators])  # (B, K)
            return _invert(
                probabilities, torch.as_tensor(chances[:, : logits.shape[1]], device=logits.device)
            )

        return _best_first(walk(stepper, draw, limits=self.limits, hypotheses=self.samples))

    def _likely(self, logits: Tensor) -> Tensor:
        """−inf for the words that are left out."""
        if self.top:
            smallest = logits.topk(min(self.top, logits.shape[-1]), -1).values[..., -1:]
            logits = logits.masked_fill(logits < smallest, -torch.inf)
        if self.nucleus < 1:
            ordered, order = logits.sort(-1, descending=True)
            probabilities = torch.softmax(ordered, -1)
            before = probabilities.cumsum(-1) - probabilities  # what the likelier words already reach
            outside = (before >= self.nucleus).scatter(-1, order, before >= self.nucleus)
            logits = logits.masked_fill(outside, -torch.inf)
        return logits


def _invert(probabilities: Tensor, chances: Tensor) -> Tensor:
    """The word at which the summed probabilities (B, K, V) pass each chance (B, K) in [0, 1)."""
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
