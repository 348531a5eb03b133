"""Encodings in memory, up to a limit, so that files need not be decoded in every epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from regard.data.contents import is_data
from regard.data.ragged import Array

ROOM = 256 * 2**20


class EncodingCache:
    """A cache of encodings by column and value. Once it is full, further encodings are computed each time."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._held: dict[tuple[str, str | int], Array] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type[EncodingCache], tuple[int]]:
        """A copy begins empty."""
        return EncodingCache, (self.room + sum(one.nbytes for one in self._held.values()),)

    def get(self, column: str, value: str, row: int, make: Callable[[str], Array]) -> Array:
        """The cached make(value); callers must not write to it.

        Rows with equal values, such as the captions of an image, share an entry. Data URIs are keyed by row, because
        they are long.
        """
        key = column, row if is_data(value) else value
        found = self._held.get(key)
        if found is not None:
            return found
        made = make(value)
        with self._lock:
            if made.nbytes <= self.room and key not in self._held:
                self.room -= made.nbytes
                self._held[key] = made
        return made
