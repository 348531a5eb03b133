"""Processes that need the same kernel at once take turns: one compiles it, the others wait and load what it kept.

Nobody waits for a process that was killed, as its lock goes with it (`regard.lock`), nor longer than `PATIENCE` for one
that hangs. Where a file system has no locks, or the folder is not ours to write in, every process compiles for itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from regard.lock import free, take

PATIENCE = 180.0
"""Seconds: three times what the largest kernel takes."""
_PAUSE = 0.05


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """What runs inside holds the lock of this file, if it can be had."""
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
