"""Phrases that an output must not contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.nn.constraints.must import PhraseOptions, phrases_of, quoted
from regard.parts import register


@register("constraint", "never")
class NeverConstraint(Constraint):
    """None of the phrases occurs."""

    class Options(PhraseOptions):
        """Phrases that an output does not contain."""

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        return phrases_of(self.options, spelling, absent=True)

    @classmethod
    def described(cls, options: Any) -> str:
        return f"does not contain {quoted(options.phrases, 'or')}"
