"""Output without rich: only printable characters for a terminal, and who watches files and rows in progress.

A terminal obeys control characters: ESC starts commands that move the cursor, rename the window or write to
the clipboard (OSC 52), and direction marks (U+202E) reverse the text after them. Each becomes U+FFFD. The
control sequences that rich sends for color and progress stay. Files and pipes receive their text unchanged.

Reading some GB takes minutes. Progress is shown for files that are read and rows that are evaluated.
"""

from __future__ import annotations

import io
import os
import re
import sys
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
REPLACEMENT = "\ufffd"
_TURNING = "\u202a-\u202e\u2066-\u2069"
"""Direction marks that affect other text: embeddings, overrides and isolates, and their closing marks."""
_NO_CHARACTERS = "".join(chr(plane << 16 | 0xFFFE) + chr(plane << 16 | 0xFFFF) for plane in range(17))
_FORBIDDEN = re.compile(f"[\x00-\x1f\x7f-\x9f{_TURNING}\ud800-\udfff{_NO_CHARACTERS}]")
LINES = "\n\t"


def printable(text: str, keep: str = "") -> str:
    """Replace characters that XML, figures and terminals refuse by U+FFFD: controls, marks that change the
    direction of other text, and lone surrogates.

    keep   controls that may stay, such as line breaks
    """
    if text.isprintable():
        return text
    if not keep:
        return _FORBIDDEN.sub(REPLACEMENT, text)
    return _FORBIDDEN.sub(lambda found: found[0] if found[0] in keep else REPLACEMENT, text)


def say(text: str, *, error: bool = False) -> None:
    """Print a line: unchanged to a file or a pipe, made printable on a terminal."""
    stream = sys.stderr if error else sys.stdout
    TerminalText(stream).write(f"{text}\n")


class TerminalText:
    """A text stream whose output to a terminal is made printable."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.terminal = stream, bool(stream.isatty())

    def write(self, text: str) -> int:
        return int(self.stream.write(printable(text, LINES) if self.terminal else text))

    def flush(self) -> None:
        self.stream.flush()


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
