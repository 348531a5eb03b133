"""Outputs with an even number of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import regard


class Even(regard.nn.Automaton):
    start = 0

    def step(self, state: int, character: str) -> int:
        return 1 - state

    def accepts(self, state: int) -> bool:
        return state == 0


@regard.register("constraint", "even")
class EvenConstraint(regard.nn.Constraint):
    """The number of characters of an output is even."""

    def automata(self, spelling: regard.nn.OutputSpelling) -> Sequence[regard.nn.Automaton]:
        return [Even()]

    @classmethod
    def described(cls, options: Any) -> str:
        return "has an even number of characters"
