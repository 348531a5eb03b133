"""Text of words that come with their characters."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.batch import BEGIN, END, Spelling, Tokens
from regard.data.columns.text import TextColumn
from regard.data.columns.vocabulary import Vocabulary
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import register

RARE = 2
"""Characters that occur fewer times in training are unknown, so that the model learns to treat unknown ones."""
LONGEST = 32
"""Longest spelling; of longer words, only the first and the last half of as many characters are read."""


@register("column", "spelled-text")
class SpelledTextColumn(TextColumn):
    """A text column of words whose batches contain a `Spelling`, also for words outside the vocabulary.

    The spelling keeps the case, whatever the option `case`.
    """

    type = "spelled-text"
    roles: ClassVar[tuple[str, ...]] = ()  # made from a text column if its encoder reads characters

    @property
    def reads_texts(self) -> bool:
        return True

    def __init__(self, name: str, **options: Any) -> None:
        super().__init__(name, **options)
        if self.unit != "word" or self.case == "marked":
            raise RegardError(
                "only whole words can be spelled.", where=name, fix="Use unit: word, and case: keep or lower."
            )
        self._set_characters([])

    def _set_characters(self, characters: Sequence[str]) -> None:
        self.characters = Vocabulary(characters)
        self._spelled: dict[str, Array] = {}

    def learn(self, values: Iterable[str]) -> None:
        words: Counter[str] = Counter()

        def counted() -> Iterator[str]:
            for value in values:
                words.update(self.words(value))
                yield value

        super().learn(counted())
        characters: Counter[str] = Counter()
        for word, count in words.items():  # each distinct word only once
            for character in word:
                characters[character] += count
        self._set_characters(Vocabulary.counted(characters, min_count=RARE).pieces)

    def words(self, text: str) -> list[str]:
        """The words of a text in their original case, one per piece."""
        return self.cutter.cut(text if self.form is None else unicodedata.normalize(self.form, text))

    def spell_word(self, word: str) -> Array:
        """BEGIN, the numbers of the characters, END."""
        found = self._spelled.get(word)
        if found is None:
            half = LONGEST // 2
            signs = word if len(word) <= LONGEST else word[:half] + word[-half:]
            found = self._spelled[word] = np.array([BEGIN, *self.characters.ids(signs), END], dtype=np.int64)
        return found

    def collate_texts(self, encoded: Ragged, texts: Sequence[str]) -> Tokens:
        """Like `collate`, with a `Spelling` of the distinct words."""
        tokens = super().collate_texts(encoded, texts)
        numbers: dict[str, int] = {}
        places = [
            np.array([numbers.setdefault(word, len(numbers)) for word in self.words(text)], dtype=np.int64)
            for text in texts
        ]
        spelled = Ragged.of([self.spell_word(word) for word in numbers])
        spelling = Spelling(
            torch.from_numpy(spelled.padded()),
            torch.from_numpy(spelled.lengths),
            torch.from_numpy(Ragged.of(places).padded()),
        )
        return replace(tokens, spelling=spelling)

    def units(self) -> dict[str, Sequence[Hashable]]:
        return {**super().units(), "characters": self.characters.units()}

    def grow(self, kind: str) -> None:
        if kind == "characters":
            self._set_characters(self.characters.grown().pieces)
        else:
            super().grow(kind)

    def learned(self) -> dict[str, Any]:
        return {**super().learned(), "characters": self.characters.pieces}

    def relearn(self, learned: Mapping[str, Any]) -> None:
        super().relearn(learned)
        self._set_characters(learned.get("characters", []))

    def inner_sizes(self) -> dict[str, int]:
        return {f"characters of {self.name}": len(self.characters)}

    def pretend_inner(self, name: str, size: int) -> None:
        self._set_characters([f"unit{number}" for number in range(size)])
