"""Greedy search: always the most probable next word."""

from __future__ import annotations

from dataclasses import dataclass, field

from regard.nn.search.candidates import top
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.stepper import Stepper
from regard.nn.search.walk import walk


@dataclass(frozen=True)
class Greedy:
    limits: Limits = field(default_factory=Limits)

    def __call__(self, stepper: Stepper) -> Hypotheses:
        return walk(stepper, lambda logits, _: top(logits, 1)[1].squeeze(-1), limits=self.limits)
