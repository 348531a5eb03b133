"""A world: rows made by a program, so that everything about them is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from regard.data.choice import choose
from regard.data.provider import Provider, RowCount, Seed, Splits, numbered

Made = Iterable[Mapping[str, str]]


class World(Provider):
    """Its options (sizes, seed) determine every row. Registered with `@register("world", NAME)`."""

    seed: Seed = 1
    """Determines everything."""


class SplitWorld(World):
    """A world with so many rows in each of three splits, or more."""

    train: RowCount = 10_000
    """Number of rows."""
    dev: RowCount = 500
    """Rows of the split `dev`."""
    test: RowCount = 1_000
    """Rows of the split `test`."""

    def tests_first(self, rows: Callable[[str, int], Made], **beside: int) -> Splits:
        """What `rows(split, size)` makes, one split after another: those to be tested on come first, so that they stay
        the same whatever the size of train.

        beside   further splits to test on, and how many rows they have
        """
        sizes = {"dev": self.dev, "test": self.test, **beside, "train": self.train}
        made = {split: numbered(self.type, split, rows(split, size)) for split, size in sizes.items()}
        return {split: made[split] for split in ("train", "dev", "test", *beside)}

    def splits_apart(self, rows: Callable[[np.random.Generator, int], Made]) -> Splits:
        """What `rows(generator, size)` makes: each split has a generator of its own, so that it stays the same whatever
        the sizes of the others."""
        sizes = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            split: numbered(self.type, split, rows(np.random.default_rng([self.seed, place]), size))
            for place, (split, size) in enumerate(sizes.items())
        }


def world(name: str, **options: Any) -> World:
    """The world of that name: world("translation", seed=2, train=5000).splits()["train"]."""
    made: World = choose("world", name, options)
    return made
