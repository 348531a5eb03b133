"""The grammar world: sentences, tags and trees, in splits that share no sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from regard.data.worlds.grammar.grammar import Grammar
from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError

SHORTEST = 6


@dataclass(frozen=True)
class GrammarWorld:
    """English sentences with the tag and the head of each word (`grammar.py` says what is ambiguous about them).

    seed          determines everything
    train … test  numbers of sentences; none occurs twice, in one split or in two
    max_words     longest sentence, the full stop counted
    crossing      share of the sentences whose tree may be non-projective
    """

    seed: int = 1
    train: int = 5_000
    dev: int = 500
    test: int = 1_000
    max_words: int = 25
    crossing: float = 0.0

    name: ClassVar[str] = "grammar"
    fields: ClassVar[tuple[str, ...]] = ("words", "tags", "tree")

    def __post_init__(self) -> None:
        if self.max_words < SHORTEST:
            raise RegardError(
                f"max_words is {self.max_words}, expected at least {SHORTEST}.", where=self.name
            )
        if not 0.0 <= self.crossing <= 1.0:
            raise RegardError(f"crossing is {self.crossing}, expected a share from 0 to 1.", where=self.name)

    def splits(self) -> Splits:
        grammar, seen = Grammar(Random(self.seed), crossing=self.crossing), set[str]()
        # Those to be tested on come first, so that they stay the same whatever the size of train.
        sizes = {"dev": self.dev, "test": self.test, "train": self.train}
        rows = {
            split: numbered(self.name, split, self._rows(grammar, size, seen))
            for split, size in sizes.items()
        }
        return {split: rows[split] for split in ("train", "dev", "test")}

    def _rows(self, grammar: Grammar, size: int, seen: set[str]) -> Iterator[dict[str, str]]:
        while size:
            sentence = grammar.sentence()
            if len(sentence) > self.max_words or sentence.text in seen:
                continue
            seen.add(sentence.text)
            size -= 1
            yield {"words": sentence.text, "tags": " ".join(sentence.tags), "tree": sentence.tree}
