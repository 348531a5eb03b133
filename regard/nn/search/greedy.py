"""Greedy search: always the most probable next token."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from regard.nn.search.active import Active
from regard.nn.search.candidates import top
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.stepper import Stepper
from regard.nn.search.walk import walk


@dataclass(frozen=True)
class Greedy:
    limits: Limits = field(default_factory=Limits)

    def __call__(self, stepper: Stepper) -> Hypotheses:
        bounds = self.limits.of(stepper)
        return walk(stepper, _most_probable, steps=bounds.steps, bounds=bounds)


def _most_probable(logits: Tensor, step: int, active: Active) -> Tensor:
    return top(logits, 1)[1].squeeze(-1)
