"""Worlds of meaningless symbols, to see that a model learns at all: copy them, or reverse them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from regard.data.worlds.world import Splits, numbered
from regard.errors import RegardError

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class SymbolWorld(ABC):
    """Strings of letters with spaces between them; `long` has lengths past those of the other splits, up to half again.

    seed          determines everything
    train … long  numbers of rows; no string occurs in two of them, or twice
    symbols       number of letters used
    max_length    longest string outside `long`
    """

    seed: int = 1
    train: int = 10_000
    dev: int = 500
    test: int = 500
    long: int = 500
    symbols: int = 20
    max_length: int = 12

    name: ClassVar[str]
    fields: ClassVar[tuple[str, ...]] = ("source", "target", "alignment")

    def __post_init__(self) -> None:
        if not 2 <= self.symbols <= len(LETTERS):
            raise RegardError(f"symbols is {self.symbols}, expected 2 to {len(LETTERS)}.", where=self.name)
        strings = sum(self.symbols**length for length in range(1, self.max_length + 1))
        # Twice as many as are drawn, or drawing distinct ones would take forever.
        if strings < 2 * (self.train + self.dev + self.test):
            raise RegardError(
                f"there are too few strings of {self.symbols} symbols up to length {self.max_length}.",
                where=self.name,
                fix="Ask for fewer rows, more symbols or longer strings.",
            )

    @abstractmethod
    def order(self, length: int) -> list[int]:
        """The source place of each target place."""

    def splits(self) -> Splits:
        generator, seen = Random(self.seed), set[str]()
        # Those to be tested on come first, so that they stay the same whatever the size of train.
        sizes = {"dev": self.dev, "test": self.test, "long": self.long, "train": self.train}
        rows = {
            split: numbered(self.name, split, self._rows(generator, size, seen, far=split == "long"))
            for split, size in sizes.items()
        }
        return {split: rows[split] for split in ("train", "dev", "test", "long")}

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


class CopyWorld(SymbolWorld):
    """b a d → b a d"""

    name = "copy"

    def order(self, length: int) -> list[int]:
        return list(range(length))


class ReverseWorld(SymbolWorld):
    """b a d → d a b"""

    name = "reverse"

    def order(self, length: int) -> list[int]:
        return list(range(length - 1, -1, -1))
