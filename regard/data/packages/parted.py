"""Split a set of entries into disjoint parts."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from regard.errors import RegardError


def parted(
    entries: Sequence[str], *, seed: int, train: int | None, dev: int, test: int, name: str
) -> dict[str, list[str]]:
    """Sort and shuffle the distinct entries, then take test, dev, and train (all that remain, unless limited)."""
    left = sorted(set(entries))
    if len(left) <= dev + test:
        raise RegardError(
            f"dev and test take {dev + test} of {len(left)} entries; none is left for training.",
            where=name,
        )
    Random(seed).shuffle(left)
    rest = left[dev + test :]
    return {
        "train": rest if train is None else rest[:train],
        "dev": left[test : dev + test],
        "test": left[:test],
    }
