"""The reports world: reports, their headlines, and the source of each word of a headline."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits, numbered
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.reports.names import parted
from regard.worlds.reports.sentences import Happening
from regard.worlds.world import SplitWorld

HELD = 6_000
"""Number of names that occur in dev and test only."""
MOST = 100_000
"""Maximum number of names if all splits share them."""


@register("world", "reports")
class ReportsWorld(SplitWorld):
    """Reports of several sentences, exactly one of which is news, recognizable by its verb only. The headline repeats
    the news. Dev and test have names that do not occur in train.

    The baker Wobel Krand of Tusas likes the old boat on friday . On monday the mayor Bebal Stuck opened the new bridge
    in Kilar . → mayor Bebal Stuck opens new bridge in Kilar

    `alignment` links each word of the headline to its source in the report; `evidence` gives these words by sentence
    and word.
    """

    train: RowCount = 8_000
    """Number of reports."""
    dev: RowCount = 300
    """Rows of the split `dev`, with names that train lacks."""
    test: RowCount = 1_000
    """Rows of the split `test`, with names that train lacks but dev may have."""
    names: int = 0
    """Number of names of people and towns, the same in all splits, at least 3; 0: enough names for dev and test to have
    their own."""
    shortest: int = 2
    """Minimum number of sentences of a report; lengths are uniform."""
    longest: int = 5
    """Maximum number of sentences of a report."""

    fields: ClassVar[tuple[str, ...]] = ("report", "summary", "alignment", "evidence")

    @model_validator(mode="after")
    def _lengths(self) -> Self:
        if self.names and not 3 <= self.names <= MOST:
            raise RegardError(
                f"names is {self.names}, expected 3 to {MOST}, or 0 for names that differ between train and test."
            )
        if not 1 <= self.shortest <= self.longest <= 1_000:
            raise RegardError(
                f"shortest is {self.shortest} and longest is {self.longest}, "
                "expected 1 ≤ shortest ≤ longest ≤ 1000 sentences."
            )
        return self

    def splits(self) -> Splits:
        known, held = parted(self.seed, HELD)
        if self.names:
            known = held = known[: self.names]
        # Each split has its own generator, so that it does not depend on the sizes of the others.
        sizes = {"train": (self.train, known), "dev": (self.dev, held), "test": (self.test, held)}
        return {
            split: numbered(self.type, split, self._rows(Random(f"{self.seed} {split}"), size, names))
            for split, (size, names) in sizes.items()
        }

    def _rows(self, generator: Random, size: int, names: list[str]) -> Iterator[dict[str, str]]:
        for _ in range(size):
            yield self._row(generator, names)

    def _row(self, generator: Random, names: list[str]) -> dict[str, str]:
        count = generator.randint(self.shortest, self.longest)
        news = generator.randrange(count)
        words: list[str] = []
        for place in range(count):
            happening = Happening.drawn(generator, names, news=place == news)
            told = happening.told(generator)
            if place == news:
                headline = happening.headline()
                first = len(words)
                links = [
                    (_at(told, happening.source_of(word)), target)
                    for target, word in enumerate(headline)
                    if _at(told, happening.source_of(word)) >= 0
                ]
            words += told
        return {
            "report": " ".join(words),
            "summary": " ".join(headline),
            "alignment": " ".join(f"{first + source}-{target}" for source, target in links),
            "evidence": " ".join(f"{news}:{source}" for source in sorted({source for source, _ in links})),
        }


def _at(words: list[str], word: str) -> int:
    """The position of a word, or −1: a sentence with `of Kilar` has no `in`."""
    return words.index(word) if word in words else -1
