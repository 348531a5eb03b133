"""Base class of the worlds of meaningless symbols, `copy` and `reverse`, for a first check that a model learns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from random import Random
from typing import ClassVar, Self

from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.errors import RegardError
from regard.worlds.world import SplitWorld

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class SymbolWorld(SplitWorld):
    """Strings of letters separated by spaces; those of `long` are up to 1.5 times as long as the others."""

    train: RowCount = 10_000
    """Number of rows; all strings are distinct, also across splits."""
    test: RowCount = 500
    """Rows of the split `test`."""
    long: RowCount = 500
    """Rows of the split `long`."""
    symbols: int = 20
    """Number of different letters, 2 to 26."""
    max_length: int = 12
    """Maximum length of a string outside `long`."""

    fields: ClassVar[tuple[str, ...]] = ("source", "target", "alignment")

    @model_validator(mode="after")
    def _enough_strings(self) -> Self:
        if not 2 <= self.symbols <= len(LETTERS):
            raise RegardError(f"symbols is {self.symbols}, expected 2 to {len(LETTERS)}.")
        strings = sum(self.symbols**length for length in range(1, self.max_length + 1))
        # With fewer than twice as many strings as rows, drawing distinct ones would take forever.
        if strings < 2 * (self.train + self.dev + self.test):
            raise RegardError(
                f"there are too few strings of {self.symbols} symbols up to length {self.max_length}.",
                fix="Ask for fewer rows, more symbols or longer strings.",
            )
        return self

    @abstractmethod
    def order(self, length: int) -> list[int]:
        """The source position of each target position."""

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        return self.tests_first(
            lambda split, size: self._rows(generator, size, seen, far=split == "long"), long=self.long
        )

    def _rows(self, generator: Random, size: int, seen: set[str], *, far: bool) -> Iterator[dict[str, str]]:
        low, high = (self.max_length + 1, self.max_length * 3 // 2) if far else (1, self.max_length)
        while size:
            letters = generator.choices(LETTERS[: self.symbols], k=generator.randint(low, max(low, high)))
            source = " ".join(letters)
            if source in seen:
                continue
            seen.add(source)
            size -= 1
            order = self.order(len(letters))
            links = sorted((place, target) for target, place in enumerate(order))
            yield {
                "source": source,
                "target": " ".join(letters[place] for place in order),
                "alignment": " ".join(f"{place}-{target}" for place, target in links),
            }
