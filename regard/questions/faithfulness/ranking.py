"""Orders in which positions are removed: by attention, by a comparator, at random."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from regard.data.ragged import Array

BINS = (0.01, 0.05, 0.10, 0.20, 0.50)
"""Shares of the positions that ERASER removes or keeps."""


def order_by(importance: Array, generator: np.random.Generator) -> Array:
    """(…, S) positions from the most important to the least; ties are broken at random, so that equal weights order
    nothing."""
    tie = generator.random(importance.shape)
    return np.lexsort((tie, -np.round(importance.astype(np.float64), 9)), axis=-1)


def random_orders(count: int, positions: int, generator: np.random.Generator) -> Array:
    """(count, S) permutations of the positions."""
    return np.argsort(generator.random((count, positions)), axis=-1)


def sizes(positions: int, bins: Sequence[float] = BINS) -> list[int]:
    """How many of S positions each bin takes: ⌈q S⌉, at least one, at most all but one."""
    return [min(max(1, math.ceil(share * positions - 1e-9)), positions - 1) for share in bins]


def without_top(order: Array, count: int) -> Array:
    """(S,) bool: what is kept if the first `count` of an order are removed."""
    kept = np.ones(len(order), dtype=bool)
    kept[order[:count]] = False
    return kept


def only_top(order: Array, count: int) -> Array:
    """(S,) bool: the first `count` of an order."""
    return ~without_top(order, count)


def bin_sets(order: Array, bins: Sequence[float] = BINS) -> Iterator[Array]:
    """The kept sets that comprehensiveness and sufficiency of an order need."""
    for count in dict.fromkeys(sizes(len(order), bins)):
        yield without_top(order, count)
        yield only_top(order, count)


def each_alone(positions: int) -> Iterator[Array]:
    """The kept sets of leave-one-out."""
    for place in range(positions):
        kept = np.ones(positions, dtype=bool)
        kept[place] = False
        yield kept
