"""Values of a column, or their words, each looked at once however often it occurs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from regard.data.ragged import Array

MOST = 1 << 20
"""Distinct values or words that are remembered."""
MOST_BYTES = 1 << 26
"""Bytes of all of them."""
FEW = 1 << 14
"""Slots at the beginning."""


class Remembered:
    """Distinct values, or words between spaces, numbered in the order in which they occurred.

    by_words   whether a value is cut at spaces
    """

    def __init__(self, *, by_words: bool, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self.by_words = by_words
        self._slots = np.full(min(FEW, 2 * most), -1, np.int32)
        self._entries = np.empty((most, 4), np.int64)  # hash, start, length, count
        self._arena = np.empty(most_bytes, np.uint8)
        self._state = np.zeros(3, np.int64)

    def __len__(self) -> int:
        return int(self._state[0])

    @property
    def counts(self) -> Array:
        """(entries,) how often each occurred"""
        return self._entries[: len(self), 3]

    def entries(self, first: int = 0) -> Iterator[str]:
        """The values from number `first` on."""
        content: memoryview = self._arena.data
        for number in range(first, len(self)):
            _, start, length, _ = self._entries[number].tolist()
            yield str(content[start : start + length], "utf-8")

    def find(
        self, text: Array, starts: Array, ends: Array, first: int = 0, *, stops: bool = False
    ) -> tuple[Array, Array, int]:
        """The entries of the rows from `first` on, −1 for each space, −2 where all places are taken; their offsets by
        row; and the row at which it stopped.

        stops   whether to stop at a row with a new value when all places are taken
        """
        from regard.data.blocks.kernels import look_up, spread

        size = int((ends[first:] - starts[first:]).sum()) * self.by_words + 1
        found = np.empty(2 * size + len(starts), np.int32)
        offsets = np.zeros(len(starts) + 1, np.int64)
        self._state[2] = 0
        while True:
            table = self._slots, self._entries, self._arena, self._state
            full = 2 * len(self._entries) <= len(self._slots)
            stop = int(
                look_up(text, starts, ends, self.by_words, first, stops or not full, *table, found, offsets)
            )
            if stop == len(starts) or full:
                return found[: int(self._state[2])], offsets, stop
            # Half of the slots are taken: take four times as many. A small table is faster, because it fits the cache.
            self._slots = np.full(4 * len(self._slots), -1, np.int32)
            spread(self._slots, self._entries, len(self))
            first = stop

    def counted(self) -> Iterator[tuple[str, int]]:
        """The values that occurred, with how often they did."""
        found = zip(self.entries(), self.counts.tolist(), strict=True)
        return ((value, count) for value, count in found if count)

    def clear(self) -> None:
        """Forget everything."""
        self._slots.fill(-1)
        self._state[:] = 0
