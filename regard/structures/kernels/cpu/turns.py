"""Processes that need the same kernel take turns: one compiles it, the others wait and load the result.

A killed process releases its lock (`regard.storage.lock`), and no process waits longer than `PATIENCE` for one that
hangs. If the file system has no locks, or the folder is not writable, every process compiles for itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.storage.lock import free, take

PATIENCE = 180.0
"""Seconds: three times the compilation time of the largest kernel."""
_PAUSE = 0.05


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold the lock of this file, if it can be acquired."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + PATIENCE
        while take(handle) is False and time.monotonic() < end:
            time.sleep(_PAUSE)
        yield
    finally:
        free(handle)
        os.close(handle)
