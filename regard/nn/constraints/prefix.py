"""The text with which an output begins."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any

from pydantic import Field

from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.parts import register


class BeginningAutomaton(Automaton):
    """Accepts a text that begins with another; a state is the number of its characters so far."""

    start = 0

    def __init__(self, text: str) -> None:
        self.text = text

    def step(self, state: int, character: str) -> int | None:
        if state == len(self.text):
            return state
        return state + 1 if self.text[state] == character else None

    def accepts(self, state: int) -> bool:
        return state == len(self.text)

    def classes(self, characters: Sequence[str]) -> list[Hashable]:
        known = set(self.text)
        return [one if one in known else None for one in characters]


@register("constraint", "prefix")
class PrefixConstraint(Constraint):
    """The output begins with a text, which may end within a unit."""

    class Options(Constraint.Options):
        """The text with which an output begins; its last word may be continued."""

        text: Annotated[str, Field(min_length=1)] = "a"
        """The beginning."""

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        return [BeginningAutomaton(spelling.normalize(self.options.text))]

    @classmethod
    def described(cls, options: Any) -> str:
        return f"begins with {options.text!r}"
