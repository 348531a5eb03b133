"""The translation world: sentences, their translations and true alignments, in splits that share no sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import ClassVar

from regard.data.worlds.translation.sampling import SHORTEST_CLAUSE, Sampler
from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError


@dataclass(frozen=True)
class TranslationWorld:
    """English and a language with other word order (`transfer.py` describes it).

    seed          determines everything
    train … long  numbers of pairs; no English sentence occurs twice, in one split or in two
    max_words     longest English sentence outside `long`; lengths are spread evenly from 3 up
    long          sentences of the same grammar, longer than any other, up to half again as long
    characters    write the source without spaces, and link each target word to the characters of its source words
    """

    seed: int = 1
    train: int = 20_000
    dev: int = 500
    test: int = 1_000
    long: int = 500
    max_words: int = 20
    characters: bool = False

    name: ClassVar[str] = "translation"
    fields: ClassVar[tuple[str, ...]] = ("source", "target", "alignment")

    def __post_init__(self) -> None:
        if self.max_words < 6:
            raise RegardError(f"max_words is {self.max_words}, expected at least 6.", where=self.name)

    def splits(self) -> Splits:
        sampler, seen = Sampler(Random(self.seed)), set[str]()
        # Those to be tested on come first, so that they stay the same whatever the size of train.
        rows = {
            "dev": numbered(self.name, "dev", self._rows(sampler, self.dev, seen)),
            "test": numbered(self.name, "test", self._rows(sampler, self.test, seen)),
            "long": numbered(self.name, "long", self._rows(sampler, self.long, seen, far=True)),
            "train": numbered(self.name, "train", self._rows(sampler, self.train, seen)),
        }
        return {split: rows[split] for split in ("train", "dev", "test", "long")}

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
    """The source without its spaces, and its links by characters: "a cat", "1-0" → "acat", "1-0 2-0 3-0"."""
    words = source.split()
    starts = [0, *accumulate(map(len, words))]
    links = (map(int, link.split("-")) for link in alignment.split())
    pairs = [(place, target) for word, target in links for place in range(starts[word], starts[word + 1])]
    return "".join(words), " ".join(f"{place}-{target}" for place, target in sorted(pairs))
