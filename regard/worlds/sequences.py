"""Base class of the worlds with one answer about a whole sequence: `parity`, `sum` and `compare`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from random import Random
from typing import Annotated

from pydantic import Field

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.parts import Count
from regard.worlds.levels import TRIES
from regard.worlds.world import SplitWorld


class SequenceWorld(SplitWorld):
    """Sequences of train have up to `length` elements, those of dev and test more, up to twice as many, those of `long`
    `times` as many. Only in train may a sequence be repeated, because there are few short ones."""

    train: RowCount = 2000
    """Number of rows."""
    test: RowCount = 500
    """Rows of the split `test`."""
    long: RowCount = 500
    """Rows of the split `long`."""
    length: Count = 8
    """Maximum length of sequences in train."""
    times: Annotated[int, Field(ge=2)] = 10
    """Length of the sequences of `long`, as a multiple of `length`."""

    @abstractmethod
    def example(self, generator: Random, length: int) -> dict[str, str]:
        """A row for a sequence of this length."""

    def splits(self) -> Splits:
        generator, n, taken = Random(self.seed), self.length, set[str]()
        far, farther = (n + 1, 2 * n), (self.times * n, self.times * n)
        lengths = {"dev": far, "test": far, "long": farther, "train": (1, n)}
        return self.tests_first(
            lambda split, size: self._rows(generator, taken, size, *lengths[split]), long=self.long
        )

    def _rows(
        self, generator: Random, taken: set[str], size: int, low: int, high: int
    ) -> Iterator[dict[str, str]]:
        for _ in range(size):
            for _ in range(TRIES):
                row = self.example(generator, generator.randint(low, high))
                content = "\0".join(row.values())
                if content not in taken:
                    break
            else:
                raise RegardError(
                    f"there are too few different sequences of {low} to {high} members.",
                    fix="Ask for fewer rows of dev, test and long, or for longer sequences.",
                )
            if low > self.length:  # not in train, whose sequences are shorter than all others
                taken.add(content)
            yield row
