"""Encodings held in memory, as long as there is room: what was decoded once need not be decoded in every epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable

from regard.data.ragged import Array

ROOM = 256 * 2**20


class Held:
    """Encodings by column and row, up to so many bytes; what comes when it is full is made anew each time."""

    def __init__(self, room: int = ROOM) -> None:
        self.room = room
        self._held: dict[tuple[str, int], Array] = {}
        self._lock = threading.Lock()

    def get(self, name: str, row: int, make: Callable[[], Array]) -> Array:
        """The encoding, made unless it is here; nobody may write into it."""
        found = self._held.get((name, row))
        if found is not None:
            return found
        made = make()
        with self._lock:
            if made.nbytes <= self.room and (name, row) not in self._held:
                self.room -= made.nbytes
                self._held[name, row] = made
        return made
