"""Reports on the progress of reading files and evaluating rows, since some GB take minutes."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO, Any

Watcher = Callable[[str, str, float], None]
"""Called with the activity ("": known to the watcher), its object ("corpus.txt"), and the share done."""

_WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
PIECE = 1 << 17
"""Bytes read at a time if there is a watcher."""


@contextmanager
def watching(tell: Watcher) -> Iterator[None]:
    """Report to this watcher on files that are opened inside the context, and on rows that are evaluated."""
    token = _WATCHER.set(tell)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def tell(doing: str, what: str, share: float) -> None:
    """Report progress to the watcher, if there is one."""
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(doing, what, share)


def open_watched(path: Path, *, hashed: bool = False) -> IO[bytes] | io.BufferedReader:
    """Open a file for reading bytes; the watcher receives its progress."""
    tell = _WATCHER.get()
    return path.open("rb") if tell is None else io.BufferedReader(_Counted(path, tell, hashed), PIECE)


class _Counted(io.FileIO):
    def __init__(self, path: Path, tell: Watcher, hashed: bool) -> None:
        super().__init__(path, "rb")
        self._path, self._tell, self._hashed, self._read = path, tell, hashed, 0
        self._size = os.fstat(self.fileno()).st_size  # 0 for a pipe, whose length is unknown

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._read += count or 0
        if self._size:
            doing = "hashing" if self._hashed else ""
            self._tell(doing, self._path.name, min(self._read / self._size, 1.0))
        return count
