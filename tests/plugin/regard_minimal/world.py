"""Sentences about gauges: one word in each is the number that is read."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import ClassVar

import regard
from regard.worlds import RowCount, Splits, numbered

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
GAUGES = ("pump", "tank", "boiler", "valve", "meter")
VERBS = ("shows", "reads", "gives")
UNITS = ("bars", "liters", "volts")
ADJECTIVES = ("old", "new", "small", "red", "loud")


@regard.register("world", "gauge")
class GaugeWorld(regard.worlds.World):
    """the old pump shows seven bars → 7."""

    train: RowCount = 1000
    """Number of rows."""
    dev: RowCount = 100
    test: RowCount = 100

    fields: ClassVar[tuple[str, ...]] = ("sentence", "value", "reading", "alignment")

    def splits(self) -> Splits:
        generator = Random(self.seed)
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            split: numbered(self.type, split, self._rows(generator, size)) for split, size in sizes.items()
        }

    def _rows(self, generator: Random, size: int) -> Iterator[dict[str, str]]:
        for _ in range(size):
            number, unit = generator.randrange(len(NUMBERS)), generator.choice(UNITS)
            adjectives = generator.choices(ADJECTIVES, k=generator.randrange(3))
            words = ["the", *adjectives, generator.choice(GAUGES), generator.choice(VERBS)]
            yield {
                "sentence": " ".join([*words, NUMBERS[number], unit]),
                "value": str(number),
                "reading": f"{NUMBERS[number]} {unit}",
                "alignment": f"{len(words)}-0",
            }
