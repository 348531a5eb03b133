"""Sampling: outputs drawn from the model."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

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

    Scores are the model's own log-probabilities, at temperature 1 and before anything is left out.
    """

    samples: int = 1
    temperature: float = 1.0
    top: int = 0
    nucleus: float = 1.0
    seed: int | None = None
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        if self.samples < 1 or self.temperature <= 0 or self.top < 0 or not 0 < self.nucleus <= 1:
            raise RegardError(
                f"Sampling needs samples ≥ 1, temperature > 0, top ≥ 0 and 0 < nucleus ≤ 1; received samples "
                f"{self.samples}, temperature {self.temperature}, top {self.top}, nucleus {self.nucleus}."
            )

    def __call__(self, stepper: Stepper) -> Hypotheses:
        generator = None
        if self.seed is not None:
            generator = torch.Generator(stepper.lengths.device).manual_seed(self.seed)

        def draw(logits: Tensor, _: int) -> Tensor:
            probabilities = torch.softmax(self._likely(logits / self.temperature), -1)
            words = torch.multinomial(probabilities.flatten(0, 1), 1, generator=generator)
            return words.view(logits.shape[:2])

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
