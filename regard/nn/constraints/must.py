"""Phrases that an output must contain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field, field_validator

from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.nn.constraints.phrase import PhraseAutomaton
from regard.parts import register


def one_or_many(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def quoted(phrases: Sequence[str], last: str = "and") -> str:
    """'a', 'b' and 'c'"""
    told = [repr(one) for one in phrases]
    return f" {last} ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)


class PhraseOptions(Constraint.Options):
    phrases: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1)] = ("the",)
    """The phrases: words, or several words each."""
    whole: bool | None = None
    """Whether a phrase must be whole words, so that `cat` is not found in `category`; default: yes, unless the model
    writes characters."""

    _one_or_many = field_validator("phrases", mode="before")(one_or_many)


@register("constraint", "must")
class MustConstraint(Constraint):
    """Every phrase occurs, in any order. A beam keeps hypotheses with different numbers of phrases apart."""

    class Options(PhraseOptions):
        """Phrases that an output contains, in any order. Use a beam: greedy search adds them at the end."""

    banked: ClassVar[bool] = True

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        return phrases_of(self.options, spelling, absent=False)

    @classmethod
    def described(cls, options: Any) -> str:
        return f"contains {quoted(options.phrases)}"


def phrases_of(options: Any, spelling: OutputSpelling, *, absent: bool) -> list[Automaton]:
    whole = spelling.by_words if options.whole is None else options.whole
    written = [spelling.normalize(one) or one for one in options.phrases]
    return [PhraseAutomaton(one, whole=whole, absent=absent) for one in dict.fromkeys(written)]
