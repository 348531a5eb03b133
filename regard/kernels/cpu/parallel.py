"""Work shared among threads: the one pool of all kernels for the CPU.

The kernels release the interpreter's lock, so ordinary threads run them side by side. Unlike a parallel loop inside
numba this needs no threading layer, may be entered from several threads at once and survives a fork.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch

from regard.kernels.onednn import ARM

MINIMUM_WORK = 20_000  # inner steps worth the wake-up of another thread (some 50 microseconds)
MINIMUM_ROWS = 4  # rows of a matrix product worth a thread of their own: those of a tile
_MOST = 256  # threads of the pool, which makes one only when no other is idle


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_MOST, thread_name_prefix="regard-kernels")


def _after_fork() -> None:
    """Threads do not cross a fork, but what waits for them does: a child makes a pool of its own, and lets torch work
    in one thread, as the threads that torch's OpenMP would wait for are gone too. On ARM, oneDNN's products keep the
    number of threads they began with, and would wait for them forever: the child multiplies without oneDNN.
    """
    _pool.cache_clear()
    if torch.get_num_threads() > 1 and ARM:
        torch.backends.mkldnn.set_flags(False)
    torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def over_batch(function: Callable[..., Any], batch: int, work: int, *arguments: Any) -> None:
    """Call `function(*arguments, first, last)` on ranges that cover `range(batch)`.

    `work` counts the inner steps of one element; as many threads as torch uses take part, the calling one among them.
    """
    ranges = min(torch.get_num_threads(), batch, max(1, batch * work // MINIMUM_WORK))
    if ranges <= 1:
        function(*arguments, 0, batch)
        return
    bounds = [batch * index // ranges for index in range(ranges + 1)]
    run([partial(function, *arguments, first, last) for first, last in pairwise(bounds)])


def shares(rows: int) -> int:
    """Among how many threads to divide the rows: as many as torch uses, as long as each gets a tile."""
    return max(1, min(torch.get_num_threads(), rows // MINIMUM_ROWS))


def side_by_side(function: Callable[..., Any], parts: int, *arguments: Any) -> None:
    """Call `function(part, parts, *arguments)` for every part, in as many threads as torch uses."""
    threads = max(1, min(parts, torch.get_num_threads()))

    def work(thread: int) -> None:
        for part in range(thread, parts, threads):
            function(part, parts, *arguments)

    run([partial(work, thread) for thread in range(threads)])


def run(tasks: Sequence[Callable[[], Any]]) -> None:
    """Every task once, the first in this thread. All have ended when it returns or raises what one of them raised:
    nothing writes any longer into what the caller may then forget.
    """
    others: list[Future[Any]] = []
    try:
        for task in tasks[1:]:
            others.append(_pool().submit(task))
    except RuntimeError:  # the interpreter is about to end, and starts no more threads
        pass
    try:
        for task in (tasks[0], *tasks[1 + len(others) :]):
            task()
    finally:
        _await(others)
    for other in others:
        other.result()


def _await(others: Sequence[Future[Any]]) -> None:
    """An interrupt is raised when all have ended."""
    interrupt: BaseException | None = None
    while others:
        try:
            wait(others)
            break
        except BaseException as raised:
            interrupt = raised
    if interrupt is not None:
        raise interrupt
