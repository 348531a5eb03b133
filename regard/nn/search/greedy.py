"""Greedy search: always the most probable next token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from torch import Tensor

from regard.nn.search.hypotheses import Hypotheses, Unfinished
from regard.nn.search.search import Request, Search
from regard.nn.search.stepper import Limits, Stepper, top
from regard.nn.search.token_by_token import TokenChoice, written
from regard.nn.search.tree import SearchTree, tree_of_hypotheses
from regard.parts import register
from regard.parts.definition import remember


@register("search", "greedy")
@dataclass(frozen=True)
class Greedy(Search):
    """Writes the most probable token at every step."""

    several: ClassVar[bool] = False
    precisions: ClassVar[tuple[str, ...]] = ("fp32", "int8")

    limits: Limits = field(default_factory=Limits)
    precision: str = "fp32"

    @classmethod
    def make(cls, options: Any, request: Request) -> Self:
        return cls(limits=request.limits, precision=request.precision)

    @classmethod
    def exported(cls, options: Any) -> dict[str, Any] | None:
        return {"method": "greedy"}

    def traced(self, stepper: Stepper) -> tuple[Hypotheses, SearchTree]:
        found = self(stepper)
        return found, tree_of_hypotheses(found, int(self.limits.of(stepper).last[0]))

    def choice(self, sources: int) -> TokenChoice:
        return MostProbable()

    def __call__(self, stepper: Stepper) -> Hypotheses:
        return written(stepper, MostProbable(), self.limits.of(stepper), precision=self.precision)


@remember
@dataclass(frozen=True)
class MostProbable:
    most_probable: bool = True

    def given(self, unfinished: Unfinished, step: int, count: int) -> None:
        return None

    def choose(self, logits: Tensor, given: Tensor | None) -> Tensor:
        return top(logits, 1)[1].squeeze(-1)
