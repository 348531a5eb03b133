"""Processes that need the same kernel take turns: one compiles it, the others wait and load the result.

The operating system releases the lock of a killed process, and no process waits longer than `PATIENCE` for one that
hangs. If the file system has no locks, or the folder is not writable, every process compiles for itself.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE = 180.0
"""Seconds: three times the compilation time of the largest kernel."""
_PAUSE = 0.05


@contextmanager
def turn(path: Path) -> Iterator[None]:
    """Hold the lock of this file, if it can be acquired."""
    from filelock import lock_descriptor, unlock_descriptor

    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield
        return
    try:
        end = time.monotonic() + PATIENCE
        with suppress(OSError):  # a file system without locks
            while not lock_descriptor(handle, blocking=False) and time.monotonic() < end:
                time.sleep(_PAUSE)
        yield
    finally:
        with suppress(OSError):  # now: closing it would not, as long as a fork of this process has it open
            unlock_descriptor(handle)
        os.close(handle)
