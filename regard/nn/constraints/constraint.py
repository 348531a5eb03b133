"""Constraints: what an output must look like, as automata that read its characters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from regard import parts
from regard.parts.contract import base, optional, required


class Automaton(ABC):
    """A deterministic automaton over the characters of an output. Its states are any hashable values; only those that
    an output can reach are ever made.

    start   the state before the first character
    """

    start: Hashable

    @abstractmethod
    def step(self, state: Any, character: str) -> Hashable | None:
        """The state after a character; None if no output may continue so."""

    @abstractmethod
    def accepts(self, state: Any) -> bool:
        """Whether an output may end here."""

    def classes(self, characters: Sequence[str]) -> list[Hashable]:
        """A value for each character; those with the same value lead to the same states."""
        return list(characters)

    def accepts_text(self, text: str) -> bool:
        """Whether it accepts a whole text."""
        state: Hashable | None = self.start
        for character in text:
            state = self.step(state, character)
            if state is None:
                return False
        return self.accepts(state)


@dataclass(frozen=True)
class OutputSpelling:
    """How the outputs of a model are spelled, for a constraint that is about words.

    normalize   a text as the model would write it
    by_words    whether its units are words, or pieces of words, rather than characters
    """

    normalize: Callable[[str], str] = str
    by_words: bool = True


@base("constraint", gives=("options",), maker="make")
class Constraint(ABC):
    """A condition on the outputs of a search. An output obeys it if every automaton accepts its text.

    banked   whether hypotheses that fulfill different numbers of its automata are kept apart in a beam, because those
             that fulfill more are less probable for a while
    """

    banked: ClassVar[bool] = False

    class Options(parts.Options):
        pass

    def __init__(self, options: Any) -> None:
        self.options = options

    @classmethod
    def make(cls, options: Any) -> Self:
        return cls(options)

    @abstractmethod
    @required("once for each vocabulary")
    def automata(self, spelling: OutputSpelling) -> Sequence[Automaton]:
        """The automata that must all accept an output."""

    @classmethod
    @optional("in messages, and by `regard describe`")
    def described(cls, options: Any) -> str:
        """The condition, as the end of a sentence that begins with: an output that …"""
        return f"obeys {options.type}"

    @classmethod
    @optional("when a spec is checked")
    def refused(cls, options: Any) -> str:
        """Why no output can obey these options, with the remedy; empty if that is not known."""
        return ""
