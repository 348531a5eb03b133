"""The threads of torch, for kernels of our own.

After an operation, torch's threads (those of OpenMP) wait for the next one in a busy loop of up to 15 ms. Threads that
a kernel starts itself share the cores with that loop: on two cores, a search took half as long again. So kernels ask
OpenMP, through the library that torch itself has loaded, to run them in its threads.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.private.feature import Feature, expect

Team = Callable[[Callable[[], None], int], None]


def _absent() -> str:
    if not sys.platform.startswith("linux"):
        return "torch's threads can be asked on Linux only"
    return "" if torch.backends.openmp.is_available() else "this torch has no OpenMP"


def _library() -> Any:
    """torch's library: a name that is looked up there is found in the OpenMP that torch is linked with."""
    return ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))


def _try_team() -> Team:
    library = _library()
    begin, kind = library.GOMP_parallel, ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    begin.restype, begin.argtypes = None, (kind, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    threads = torch.get_num_threads()  # asked first: torch tells OpenMP then
    expect(library.omp_get_max_threads() == threads, "the number of torch's threads")

    def team(work: Callable[[], None], threads: int) -> None:
        begin(kind(lambda _: work()), None, threads, 0)

    seen: list[tuple[int, bool]] = []
    team(lambda: seen.append((threading.get_ident(), bool(library.omp_in_parallel()))), 2)
    idents = {ident for ident, _ in seen}
    expect(len(idents) == len(seen) and threading.get_ident() in idents, "a call in each thread of a team")
    expect(len(seen) == 1 or all(inside for _, inside in seen), "a team of OpenMP")
    return team


_team = Feature(
    "torch's threads for kernels",
    "kernels share the cores with torch's idle threads",
    _try_team,
    absent=_absent,
)
_parent = os.getpid()


def team() -> Team | None:
    """team(work, threads): call `work`, which raises nothing, once in each of at most so many of torch's threads, this
    one among them, and wait for all; None if they cannot be asked, or do not exist because this process is a fork."""
    found: Team | None = _team.get() if os.getpid() == _parent else None
    return found
