"""The translation world: sentences, translations and true alignments; no sentence is in two splits."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.translation.sampling import SHORTEST_CLAUSE, Sampler
from regard.worlds.world import SplitWorld


@register("world", "translation")
class TranslationWorld(SplitWorld):
    """English, translated into a language with a different word order (see `transfer.py`)."""

    train: RowCount = 20_000
    """Number of pairs; all English sentences are distinct, also across splits."""
    long: RowCount = 500
    """Rows of the split `long`: sentences of the same grammar, longer than all others, up to 1.5 times as long."""
    max_words: int = 20
    """Maximum number of words of an English sentence outside `long`; lengths are uniform from 3 on."""
    characters: bool = False
    """Write the source without spaces, and link each target word to the characters of its source words."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target", "alignment")

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        if self.max_words < 6:
            raise RegardError(f"max_words is {self.max_words}, expected at least 6.")
        return self

    def splits(self) -> Splits:
        sampler, seen = Sampler(Random(self.seed)), set[str]()
        return self.tests_first(
            lambda split, size: self._rows(sampler, size, seen, far=split == "long"), long=self.long
        )

    def _rows(
        self, sampler: Sampler, size: int, seen: set[str], *, far: bool = False
    ) -> Iterator[dict[str, str]]:
        low, high = (
            (self.max_words + 1, self.max_words * 3 // 2) if far else (SHORTEST_CLAUSE, self.max_words)
        )
        while size:
            source, target, alignment = sampler.pair(sampler.generator.randint(low, high))
            if source in seen:
                continue
            seen.add(source)
            size -= 1
            if self.characters:
                source, alignment = spelled(source, alignment)
            yield {"source": source, "target": target, "alignment": alignment}


def spelled(source: str, alignment: str) -> tuple[str, str]:
    """The source without spaces, and its links by character: "a cat", "1-0" → "acat", "1-0 2-0 3-0"."""
    words = source.split()
    starts = [0, *accumulate(map(len, words))]
    links = (map(int, link.split("-")) for link in alignment.split())
    pairs = [(place, target) for word, target in links for place in range(starts[word], starts[word + 1])]
    return "".join(words), " ".join(f"{place}-{target}" for place, target in sorted(pairs))
