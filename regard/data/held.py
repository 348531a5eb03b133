"""Encodings held in memory, as long as there is room: what was decoded once need not be decoded in every epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from regard.data.contents import is_data
from regard.data.ragged import Array

ROOM = 256 * 2**20


class Held:
    """Encodings by column and value, up to so many bytes; what comes when it is full is made anew each time."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._held: dict[tuple[str, str | int], Array] = {}
        self._lock = threading.Lock()

    def get(self, column: str, value: str, row: int, make: Callable[[str], Array]) -> Array:
        """make(value), unless it is here; nobody may write into it.

        Rows with the same value share it, such as the captions of a picture; a value that is the content itself, and
        long, is known by its row.
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
