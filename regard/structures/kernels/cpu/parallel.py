"""Parallel execution: one thread pool for all CPU kernels.

The kernels release the interpreter lock (GIL), so ordinary threads run them in parallel. Unlike a parallel
loop inside numba, the pool needs no threading layer, may be used from several threads at once, and survives a
fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch

from regard.private.onednn import ARM

MINIMUM_WORK = 20_000  # inner steps worth waking another thread (about 50 microseconds)
MINIMUM_ROWS = 4  # rows of a matrix product worth a thread: those of a tile
_MOST = 256  # threads of the pool, which starts one only if none is idle


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_MOST, thread_name_prefix="regard-kernels")


def _after_fork() -> None:
    """Threads do not survive a fork, but their waiters do. A child process creates a new pool and limits
    torch to one thread, because torch's OpenMP threads are gone too. On ARM oneDNN's products keep their
    initial number of threads and would wait for them forever, so the child disables oneDNN.
    """
    _pool.cache_clear()
    if torch.get_num_threads() > 1 and ARM:
        torch.backends.mkldnn.set_flags(False)
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def over_batch(function: Callable[..., Any], batch: int, work: int, *arguments: Any) -> None:
    """Call `function(*arguments, first, last)` on ranges that cover `range(batch)`.

    `work` is the number of inner steps of one element. At most as many threads as torch uses take part,
    including the calling one.
    """
    ranges = min(torch.get_num_threads(), batch, max(1, batch * work // MINIMUM_WORK))
    if ranges <= 1:
        function(*arguments, 0, batch)
        return
    bounds = [batch * index // ranges for index in range(ranges + 1)]
    run([partial(function, *arguments, first, last) for first, last in pairwise(bounds)])


def shares(rows: int) -> int:
    """Number of threads for these rows: as many as torch uses, if each gets a tile."""
    return max(1, min(torch.get_num_threads(), rows // MINIMUM_ROWS))


def side_by_side(function: Callable[..., Any], parts: int, *arguments: Any) -> None:
    """Call `function(part, parts, *arguments)` for every part, in at most as many threads as torch uses."""
    threads = max(1, min(parts, torch.get_num_threads()))

    def work(thread: int) -> None:
        for part in range(thread, parts, threads):
            function(part, parts, *arguments)

    run([partial(work, thread) for thread in range(threads)])


def run(tasks: Sequence[Callable[[], Any]]) -> None:
    """Run every task once, the first in this thread. All tasks have ended when `run` returns or raises the
    exception of a task, so that none writes to memory that the caller then frees.
    """
    others: list[Future[Any]] = []
    try:
        for task in tasks[1:]:
            others.append(_pool().submit(task))
    except RuntimeError:  # the interpreter is shutting down and starts no more threads
        pass
    try:
        for task in (tasks[0], *tasks[1 + len(others) :]):
            task()
    finally:
        _await(others)
    for other in others:
        other.result()


def _await(others: Sequence[Future[Any]]) -> None:
    """Wait for all; an interrupt is raised after they have ended."""
    interrupt: BaseException | None = None
    while others:
        try:
            wait(others)
            break
        except BaseException as raised:
            interrupt = raised
    if interrupt is not None:
        raise interrupt
