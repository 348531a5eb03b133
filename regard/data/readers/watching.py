"""How far a file has been read, told to whoever watches: a text of some GB takes minutes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

Watcher = Callable[[Path, float, bool], None]
"""Called with a file, the share of its bytes that have been read, from 0 to 1, and whether they are only hashed."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
PIECE = 1 << 17
"""Bytes read at a time where somebody watches."""


@contextmanager
def watching(tell: Watcher) -> Iterator[None]:
    """Tell this watcher of every file that is opened inside, as it is read."""
    token = _WATCHER.set(tell)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def open_watched(path: Path, *, hashed: bool = False) -> IO[bytes] | io.BufferedReader:
    """The bytes of a file, as they are on the disk."""
    tell = _WATCHER.get()
    return path.open("rb") if tell is None else io.BufferedReader(_Counted(path, tell, hashed), PIECE)


class _Counted(io.FileIO):
    def __init__(self, path: Path, tell: Watcher, hashed: bool) -> None:
        super().__init__(path, "rb")
        self._path, self._tell, self._hashed, self._read = path, tell, hashed, 0
        self._size = os.fstat(self.fileno()).st_size  # 0 of a pipe: nobody knows how long it is

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._read += count or 0
        if self._size:
            self._tell(self._path, min(self._read / self._size, 1.0), self._hashed)
        return count
