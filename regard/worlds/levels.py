"""Base class of worlds with levels of difficulty: every row has a level, up to a target level."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random
from zlib import crc32

from regard.data.provider import RowCount, Splits, numbered
from regard.errors import RegardError
from regard.worlds.world import SplitWorld

TRIES = 1000
"""Number of consecutive duplicates after which a level counts as exhausted."""
HELD_OUT = 8
"""One in HELD_OUT distinct rows is held out and never in train."""


class LevelWorld(SplitWorld):
    """Rows of dev and test have the target level. The split `levels` has all levels up to it, equally often as long as
    there are distinct rows.

    The content of a row decides whether it is held out or in train, so no row is in two splits. Easy levels have few
    distinct rows: in train, a row may occur several times.
    """

    train: RowCount = 20_000
    """Number of rows."""
    dev: RowCount = 500
    """Rows of the split `dev`; no row is in two splits."""
    levels: RowCount = 1000
    """Rows of the split `levels`."""
    mixed: bool = True
    """Train on every level up to the target, equally often; false: on the target level only."""

    @abstractmethod
    def target(self) -> Mapping[str, int]:
        """The target level: {field: its maximum}; the minimum is 1."""

    @abstractmethod
    def example(self, generator: Random, level: Mapping[str, int]) -> dict[str, str]:
        """A row of this level, without the fields of the level."""

    def splits(self) -> Splits:
        generator, taken = Random(self.seed), set[str]()
        hardest = self.target()
        ranges = (range(1, highest + 1) for highest in hardest.values())
        every = [dict(zip(hardest, level, strict=True)) for level in product(*ranges)]
        return {
            "train": numbered(self.type, "train", self._train(every if self.mixed else [hardest])),
            "dev": numbered(self.type, "dev", self._held_out(generator, taken, self.dev, [hardest])),
            "test": numbered(self.type, "test", self._held_out(generator, taken, self.test, [hardest])),
            "levels": numbered(self.type, "levels", self._held_out(generator, taken, self.levels, every)),
        }

    def _train(self, every: Sequence[Mapping[str, int]]) -> Iterator[dict[str, str]]:
        generator = Random(f"train {self.seed}")
        for number in range(self.train):
            level = every[number % len(every)]
            row = self.example(generator, level)
            while is_held_out(row):
                row = self.example(generator, level)
            yield leveled(row, level)

    def _held_out(
        self, generator: Random, taken: set[str], size: int, every: Sequence[Mapping[str, int]]
    ) -> Iterator[dict[str, str]]:
        """Distinct rows that are not in train, cycling through the levels."""
        left = list(every)
        for number in range(size):
            if not left:
                break
            level = left[number % len(left)]
            for _ in range(TRIES * HELD_OUT):
                row = self.example(generator, level)
                if is_held_out(row) and content(row) not in taken:
                    taken.add(content(row))
                    yield leveled(row, level)
                    break
            else:
                left.remove(level)
        if len(every) == 1 and not left:
            raise RegardError(
                "there are too few different rows to measure on.",
                fix="Ask for fewer rows of dev and test, or for a harder target.",
            )


def content(row: Mapping[str, str]) -> str:
    return "\0".join(row.values())


def is_held_out(row: Mapping[str, str]) -> bool:
    return crc32(content(row).encode()) % HELD_OUT == 0


def leveled(row: Mapping[str, str], level: Mapping[str, int]) -> dict[str, str]:
    """The row with the fields of its level."""
    return {**row, **{field: str(value) for field, value in level.items()}}
