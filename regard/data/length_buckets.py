"""Buckets of sequences of similar length, to reduce padding."""

from __future__ import annotations

import numpy as np

from regard.data.ragged import Array

MOST_PADDING = 0.1
MOST_BUCKETS = 12
LEVELS = 64
"""Maximum number of distinct lengths to consider as bucket boundaries."""


def length_buckets(lengths: Array) -> list[Array]:
    """The indices of the sequences in each bucket, buckets of short sequences first. The number of buckets is the
    smallest that leaves at most a tenth of all positions to padding, and at most twelve."""
    if not len(lengths):
        return []
    tops = _levels(lengths)  # (U,) the lengths at which a bucket may end
    level = np.searchsorted(tops, lengths)
    ends = _ends(tops, np.bincount(level, minlength=len(tops)), int(lengths.sum()))
    bucket = np.searchsorted(ends, level)
    return [np.flatnonzero(bucket == number) for number in range(len(ends))]


def _levels(lengths: Array) -> Array:
    found = np.unique(lengths)
    if len(found) <= LEVELS:
        return found
    chosen = np.unique(np.searchsorted(found, np.geomspace(max(found[0], 1), found[-1], LEVELS)))
    return found[np.minimum(chosen, len(found) - 1)]


def _ends(tops: Array, counts: Array, total: int) -> Array:
    """The levels at which the buckets end, by dynamic programming over the number of buckets."""
    below = np.concatenate([[0], np.cumsum(counts)])  # (U + 1,) sequences up to a level
    # cost[i, j]: positions of a bucket of levels i … j, padding included
    cost = np.maximum(below[None, 1:] - below[:-1, None], 0) * tops[None, :]
    cost = np.where(np.tri(len(tops), k=-1, dtype=bool), np.iinfo(np.int64).max // 4, cost)
    best: Array = cost[0]
    before: list[Array] = []
    while best[-1] - total > MOST_PADDING * best[-1] and len(before) + 1 < min(MOST_BUCKETS, len(tops)):
        several = best[:-1, None] + cost[1:, :]  # another bucket starts at level i + 1
        before.append(several.argmin(0))
        best = np.minimum(several.min(0), np.iinfo(np.int64).max // 4)
    ends = [len(tops) - 1]
    for choice in reversed(before):
        ends.append(int(choice[ends[-1]]))
    return np.array(ends[::-1])
