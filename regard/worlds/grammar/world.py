"""The grammar world: sentences, tags and trees; no sentence is in two splits."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.brackets import read_brackets
from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.grammar.grammar import Grammar
from regard.worlds.grammar.phrases import brackets
from regard.worlds.world import SplitWorld

SHORTEST = 6


@register("world", "grammar")
class GrammarWorld(SplitWorld):
    """English sentences with the tag and the head of each word; for their ambiguities see `grammar.py`.

    `phrases` is the sentence in brackets (rules in `phrases.py`), `parse` its linearization with XX for each word:
    `(S (NP XX XX )NP (VP XX )VP XX )S`.
    """

    train: RowCount = 5_000
    """Number of sentences; all are distinct, also across splits."""
    max_words: int = 25
    """Maximum number of words of a sentence, including the period."""
    crossing: float = 0.0
    """Share of sentences whose tree may be non-projective."""

    fields: ClassVar[tuple[str, ...]] = ("words", "tags", "tree", "phrases", "parse")

    @model_validator(mode="after")
    def _within_bounds(self) -> Self:
        if self.max_words < SHORTEST:
            raise RegardError(f"max_words is {self.max_words}, expected at least {SHORTEST}.")
        if not 0.0 <= self.crossing <= 1.0:
            raise RegardError(f"crossing is {self.crossing}, expected a share from 0 to 1.")
        return self

    def splits(self) -> Splits:
        grammar, seen = Grammar(Random(self.seed), crossing=self.crossing), set[str]()
        return self.tests_first(lambda _, size: self._rows(grammar, size, seen))

    def _rows(self, grammar: Grammar, size: int, seen: set[str]) -> Iterator[dict[str, str]]:
        while size:
            sentence = grammar.sentence()
            if len(sentence) > self.max_words or sentence.text in seen:
                continue
            seen.add(sentence.text)
            size -= 1
            phrases = brackets(sentence)
            yield {
                "words": sentence.text,
                "tags": " ".join(sentence.tags),
                "tree": sentence.tree,
                "phrases": phrases,
                "parse": read_brackets(phrases).linear(),
            }
