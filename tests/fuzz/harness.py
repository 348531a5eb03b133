"""Runs cases one at a time, with a time limit and in a private folder, and counts how they ended."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from regard.errors import RegardError

LONGEST = 20.0  # seconds per case; the slowest take a few tenths
MOST_MEMORY = 1 << 30  # bytes beyond the process's memory before the case


class Hang(BaseException):
    """A case that took too long."""


@dataclass
class Count:
    """How the cases of a kind ended."""

    cases: int = 0
    refused: int = 0
    same: int = 0
    accepted: int = 0
    tracebacks: int = 0
    hangs: int = 0
    changed: int = 0
    touched: int = 0
    peak: int = 0
    seconds: float = 0.0
    examples: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        return self.tracebacks + self.hangs + self.changed + self.touched + (self.peak > MOST_MEMORY)


class Changed(Exception):
    """The answer differs from the previous one."""


class Accepted(Exception):
    """The case is valid input of its own, with no previous answer to compare."""


def run_case(count: Count, name: str, action: Callable[[], Any], outside: Callable[[], Any]) -> None:
    """Run one case and count how it ended.

    action    refuses by RegardError or exit 2; raises `Accepted` if there is nothing to compare, `Changed` if
              the answer differs
    outside   returns the state of files that are not regard's, which must not change
    """
    before, base, began = outside(), reset_peak(), time.monotonic()
    count.cases += 1
    try:
        with limited(LONGEST), quiet():
            action()
        count.same += 1
    except RegardError:
        count.refused += 1
    except SystemExit as end:
        if end.code in (0, None):
            count.accepted += 1
        elif end.code == 2:
            count.refused += 1
        else:
            _bad(count, "tracebacks", name, f"exit {end.code}")
    except Accepted:
        count.accepted += 1
    except Changed as change:
        _bad(count, "changed", name, str(change))
    except Hang:
        _bad(count, "hangs", name, f"more than {LONGEST:.0f} s")
    except Exception:
        _bad(count, "tracebacks", name, traceback.format_exc(limit=-6))
    if outside() != before:
        _bad(count, "touched", name, "a file outside was touched")
    taken = max(0, peak() - base)
    if taken > MOST_MEMORY:
        count.examples.append(f"{name}: {taken >> 20} MB")
    count.peak = max(count.peak, taken)
    count.seconds += time.monotonic() - began


def _bad(count: Count, how: str, name: str, what: str) -> None:
    setattr(count, how, getattr(count, how) + 1)
    count.examples.append(f"{how}: {name}\n{what}")


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def quiet() -> Iterator[None]:
    """Suppress all output and replace standard input."""
    stdin = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(b"ab\n"))
    try:
        with (
            contextlib.redirect_stdout(
                io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
            ),
            contextlib.redirect_stderr(
                io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.stdin = stdin


def reset_peak() -> int:
    """Reset the peak; return the memory of this process."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _status("VmRSS")


def peak() -> int:
    return _status("VmHWM")


def _status(key: str) -> int:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def listing(*folders: Path) -> dict[str, tuple[int, int]]:
    """Every file below the folders, with its size and modification time."""
    found = {}
    for folder in folders:
        for base, _, names in os.walk(folder):
            for name in names:
                state = os.lstat(os.path.join(base, name))
                found[os.path.join(base, name)] = state.st_size, state.st_mtime_ns
    return found
