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
Behind = tuple[Callable[[int, int, int], None], Callable[[], None]]


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


def _try_behind() -> Behind:
    library = _library()
    begin, end = library.GOMP_parallel_start, library.GOMP_parallel_end
    begin.restype, begin.argtypes = None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
    end.restype, end.argtypes = None, ()
    seen: list[int] = []
    record = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: seen.append(threading.get_ident()))
    begin(ctypes.cast(record, ctypes.c_void_p), None, 2)
    inside = bool(library.omp_in_parallel())
    end()
    expect(threading.get_ident() not in seen and len(seen) <= 1, "a call in each other thread of a team")
    expect(inside == bool(seen) and not library.omp_in_parallel(), "a team that ends")
    return begin, end


_behind = Feature(
    "torch's threads behind the interpreter",
    "weights are compared after a search of one sentence instead of before it",
    _try_behind,
    absent=_absent,
)
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


def behind() -> Behind | None:
    """begin(function, data, threads): let torch's other threads, so many with this one, call a native function with an
    address while this one goes on; end(): wait for them. This thread is inside a team between the two, so that torch
    computes in one thread. None if they cannot be asked."""
    found: Behind | None = _behind.get() if os.getpid() == _parent else None
    return found
