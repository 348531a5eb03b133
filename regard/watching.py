"""How far a file has been read or rows have been measured, told to whoever watches: some GB take minutes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

Watcher = Callable[[str, str, float], None]
"""Called with what is done ("": the watcher knows), what it is done to ("corpus.txt"), and the share of it that is
done, from 0 to 1."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
PIECE = 1 << 17
"""Bytes read at a time where somebody watches."""


@contextmanager
def watching(tell: Watcher) -> Iterator[None]:
    """Tell this watcher of every file that is opened inside, as it is read, and of rows that are measured."""
    token = _WATCHER.set(tell)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(doing: str, what: str, share: float) -> None:
    """Say how far something is; where nobody watches, to nobody."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(doing, what, share)


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
            doing = "hashing" if self._hashed else ""
            self._tell(doing, self._path.name, min(self._read / self._size, 1.0))
        return count
