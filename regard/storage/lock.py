"""A lock that one process holds on a file, and that is released when the process ends in any way.

The operating system keeps the lock (`filelock`: flock, or LockFileEx on Windows), so a killed process leaves none
behind. The file of the lock may remain, and the next lock uses it.
"""

from __future__ import annotations

import json
import os
import socket
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.errors import OPEN, Message, Option, RegardError


class Lock:
    """An exclusive lock on a folder, held from its creation until `release`."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.path = folder, folder / name
        handle = self._take()
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode())
        self.release = weakref.finalize(self, _release, handle, self.path, os.getpid())

    def _take(self) -> int:
        while True:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
            if take(handle) is False:
                holder = b""
                with suppress(OSError):  # Windows: what is locked cannot be read either
                    holder = os.read(handle, 1000)
                os.close(handle)
                raise self._refusal(holder)
            if still_at(handle, self.path):
                return handle
            os.close(handle)  # its last holder removed it before we locked it

    def _refusal(self, written: bytes) -> RegardError:
        try:
            holder: dict[str, Any] = json.loads(written)
            pid, host = int(holder["pid"]), str(holder["host"])
        except (ValueError, KeyError, TypeError):  # the holder has not written its name yet
            pid, host = 0, ""
        if (pid, host) == (os.getpid(), socket.gethostname()):
            return RegardError(
                "this process already uses this run.",
                where=str(self.folder),
                fix="Train the `Experiment` that holds it, or call its `close()`.",
            )
        name = f" (process {pid} on {host})" if pid else ""
        return RegardError(
            f"this run is being trained by another process{name}.",
            where=str(self.folder),
            fix=Message("Wait until it ends, or choose another folder with `", Option("run", OPEN), "`."),
        )


def take(handle: int) -> bool | None:
    """Lock an open file: True on success, False if another process holds it, None if there are no locks."""
    from filelock import lock_descriptor  # 30 ms, and most commands lock nothing

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError:
        return None


def claim(handle: int) -> bool | None:
    """`take` of a file or folder that others write while it is locked, which Windows forbids: there it is never
    locked."""
    return None if os.name == "nt" else take(handle)


def still_at(handle: int, path: Path) -> bool:
    """Whether `path` still refers to the open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.lstat(path))
    except FileNotFoundError:
        return False


def _release(handle: int, path: Path, owner: int) -> None:
    if os.getpid() != owner:
        return  # a fork must not release the lock of its parent
    with suppress(OSError):  # the file may remain: closing it releases the lock
        if still_at(handle, path):
            path.unlink(missing_ok=True)
    os.close(handle)
