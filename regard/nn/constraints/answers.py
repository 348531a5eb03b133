"""A list of allowed outputs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Annotated, Any

from pydantic import Field, field_validator

from regard.nn.constraints.constraint import Automaton, Constraint, OutputSpelling
from regard.nn.constraints.must import one_or_many
from regard.parts import register


class TrieAutomaton(Automaton):
    """Accepts the texts of a list; a state is a node of their trie."""

    start = 0

    def __init__(self, texts: Sequence[str]) -> None:
        self.children: list[dict[str, int]] = [{}]
        self.ends = set[int]()
        for text in texts:
            node = 0
            for character in text:
                below = self.children[node]
                if character not in below:
                    below[character] = len(self.children)
                    self.children.append({})
                node = below[character]
            self.ends.add(node)
        self.known = {character for below in self.children for character in below}

    def step(self, state: int, character: str) -> int | None:
        return self.children[state].get(character)

    def accepts(self, state: int) -> bool:
        return state in self.ends

    def classes(self, characters: Sequence[str]) -> list[Hashable]:
        return [one if one in self.known else None for one in characters]


@register("constraint", "answers")
class AnswersConstraint(Constraint):
    """The output is one of a list."""

    class Options(Constraint.Options):
        """The output is one of these texts."""

        answers: Annotated[tuple[str, ...], Field(min_length=1)] = ("yes", "no")
        """The allowed outputs."""

        _one_or_many = field_validator("answers", mode="before")(one_or_many)

    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        return [TrieAutomaton([spelling.normalize(one) for one in self.options.answers])]

    @classmethod
    def described(cls, options: Any) -> str:
        return f"is one of {len(options.answers):,} answers"
