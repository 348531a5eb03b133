"""The automaton of outputs that contain a phrase, and that of outputs that do not."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from regard.data.columns.vocabulary import belongs_to_word
from regard.nn.constraints.constraint import Automaton

Places = frozenset[int]
"""How much of the phrase the last characters may be the beginning of: numbers of its characters."""
FOUND: Places = frozenset({-1})
"""The phrase was written."""


class PhraseAutomaton(Automaton):
    """Accepts a text that contains a phrase; with `absent`, one that does not.

    whole   whether the phrase must be whole words: no letter, digit or mark stands beside its first and last one
    """

    def __init__(self, phrase: str, *, whole: bool, absent: bool = False) -> None:
        self.phrase, self.absent = phrase, absent
        self.opens = whole and belongs_to_word(phrase[0])
        self.closes = whole and belongs_to_word(phrase[-1])
        self.start: Places = frozenset({0})

    def step(self, state: Places, character: str) -> Hashable | None:
        if state == FOUND:
            return None if self.absent else FOUND
        inside = belongs_to_word(character)
        size = len(self.phrase)
        after = {place + 1 for place in state if place < size and self.phrase[place] == character}
        ended = size in state if self.closes else size in after
        if ended and not (self.closes and inside):
            return None if self.absent else FOUND
        if not (self.opens and inside):
            after.add(0)
        return frozenset(after)

    def accepts(self, state: Places) -> bool:
        return (state == FOUND or len(self.phrase) in state) != self.absent

    def classes(self, characters: Sequence[str]) -> list[Hashable]:
        known = set(self.phrase)
        return [one if one in known else belongs_to_word(one) for one in characters]
