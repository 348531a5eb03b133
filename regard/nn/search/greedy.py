"""Greedy search: always the most probable next token."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch import Tensor

from regard.nn.search.active import Active
from regard.nn.search.candidates import top
from regard.nn.search.hypotheses import Hypotheses
from regard.nn.search.limits import Limits
from regard.nn.search.stepper import Stepper
from regard.nn.search.strides import walk_fast


@dataclass(frozen=True)
class Greedy:
    limits: Limits = field(default_factory=Limits)

    def __call__(self, stepper: Stepper) -> Hypotheses:
        return walk_fast(stepper, MostProbable(), self.limits.of(stepper))


@dataclass(frozen=True)
class MostProbable:
    most_probable: bool = True

    def given(self, active: Active, step: int, count: int) -> None:
        return None

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        return top(logits, 1)[1].squeeze(-1)
