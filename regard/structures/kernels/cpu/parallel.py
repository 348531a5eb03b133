"""Threads on the CPU, and torch without the library that is slow on ARM.

The kernels release the interpreter lock (GIL), so several threads of Python run them in parallel: torch's own, whose
busy waiting would slow down others (`regard.private.team`), or those of a pool where these cannot be asked, and after a
fork. Unlike a parallel loop inside numba, this needs no threading layer and may be used from several threads at once.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache, partial
from itertools import pairwise
from typing import Any

import torch

from regard.private import behind, team

ARM = platform.machine() in ("aarch64", "arm64")
MINIMUM_WORK = 20_000  # inner steps worth waking another thread (about 50 microseconds)
BRIEF = 10 * MINIMUM_WORK  # inner steps of all threads that are over before two of them would share a core
MINIMUM_ROWS = 4  # rows of a matrix product worth a thread: those of a tile
FEW_POSITIONS = (
    128  # of all sources together, for which waking torch's threads takes longer than its products
)
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
    run(
        [partial(function, *arguments, first, last) for first, last in pairwise(bounds)],
        brief=batch * work < BRIEF,
    )


def shares(rows: int) -> int:
    """Number of threads for these rows: as many as torch uses, if each gets a tile."""
    return max(1, min(torch.get_num_threads(), rows // MINIMUM_ROWS))


def side_by_side(function: Callable[..., Any], parts: int, *arguments: Any) -> None:
    """Call `function(part, parts, *arguments)` for every part, in at most as many threads as torch uses."""
    run([partial(function, part, parts, *arguments) for part in range(parts)])


class _Beside(threading.local):
    """What the next call of `run` in this thread does too."""

    tasks: Sequence[Callable[[], Any]] = ()


_beside = _Beside()


def run_beside(tasks: Sequence[Callable[[], Any]]) -> None:
    """Let the next call of `run` in this thread run these tasks too, after its own; without tasks: nothing."""
    _beside.tasks = tasks


MOST_BEHIND = 4
"""Threads of torch that may be asked at once to work behind a thread: more take longer to meet."""


class _Behind(threading.local):
    """What waits for the threads that work behind this one; and torch's threads, inside `one_thread_for`."""

    end: Callable[[], None] | None = None
    threads: int = 0


_behind = _Behind()


def begin_behind(function: int, data: int) -> bool:
    """Let torch's other threads call a native function (address) with data (address) until `end_behind`, while this
    one computes on, alone. Returns whether they do."""
    threads = _behind.threads or torch.get_num_threads()
    if _behind.end is not None or not 1 < threads <= MOST_BEHIND:
        return False
    found = behind()
    if found is None:
        return False
    begin, _behind.end = found
    if _behind.threads:  # the number of torch's threads after the team is the one before it
        torch.set_num_threads(threads)
    begin(function, data, threads)
    if _behind.threads:
        torch.set_num_threads(1)
    return True


def end_behind() -> None:
    """Wait for the threads that work behind this one, if any do."""
    end, _behind.end = _behind.end, None
    if end is not None:
        end()


def run(tasks: Sequence[Callable[[], Any]], *, brief: bool = False) -> None:
    """Run every task once, in at most as many threads as torch uses, this one among them. All tasks have ended when
    `run` returns or raises the exception of a task, so that none writes to memory that the caller then frees.

    brief   the tasks take less time than torch's threads may need to meet on a busy machine
    """
    end_behind()
    tasks = [*tasks, *_beside.tasks]
    _beside.tasks = ()
    left, raised = iter(tasks), list[BaseException]()

    def work() -> None:
        try:
            for task in left:
                try:
                    task()
                except Exception as error:
                    raised.append(error)
        except BaseException as error:  # an interrupt: the other threads take the rest
            raised.append(error)

    everyone = torch.get_num_threads()
    threads = min(len(tasks), everyone)
    if threads > 1:
        # OpenMP ends the threads that it has no use for, so all are asked, and each takes the lock of the interpreter
        together = None if brief or 2 * threads <= everyone else team()
        if together is None:
            _in_own_threads(work, threads)
        else:
            together(work, everyone)
    work()
    if raised:
        raise raised[0]


def _in_own_threads(work: Callable[[], None], threads: int) -> None:
    others: list[Future[Any]] = []
    try:
        for _ in range(threads - 1):
            others.append(_pool().submit(work))
    except RuntimeError:  # the interpreter is shutting down and starts no more threads
        pass
    try:
        work()
    finally:
        _await(others)


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


@contextmanager
def one_thread_for(positions: int) -> Iterator[None]:
    """Let torch compute in one thread if there are few positions: waking the others takes longer than the products.

    torch has one number for the whole process, and a thread that asks for it first would keep it. So this has no effect
    while the program has other threads than those of the kernels; and none while others work behind this one, because
    torch computes in one thread then.
    """
    before = torch.get_num_threads()
    if before == 1 or positions > FEW_POSITIONS or _behind.end is not None or not _alone():
        yield
        return
    torch.set_num_threads(1)
    _behind.threads = before
    try:
        yield
    finally:
        _behind.threads = 0
        torch.set_num_threads(before)


def _alone() -> bool:
    here = threading.current_thread()
    return all(one is here or one.name.startswith("regard-") for one in threading.enumerate())


_lock = threading.Lock()
_users = 0
_before = True


@contextmanager
def without_onednn() -> Iterator[None]:
    """Disable oneDNN, torch's CPU library for matrix products, on ARM while at least one such context is open. No
    effect on other CPUs.

    On ARM oneDNN repacks the weights for every product. Times on a Neoverse N1 with oneDNN and with torch's other
    library: 600 and 28 µs for a product of 64 × 64 matrices; 144 and 27 ms for a Transformer layer of 128 units
    (32 × 20 positions, forward and backward); 22 and 10 ms for an image convolution. One-dimensional convolutions
    take half the time with oneDNN. Large products take about the same time.

    torch has one switch for the whole process (`torch.backends.mkldnn.enabled`) and none for a thread. So all open
    contexts are counted, and the setting from before the first is restored after the last, in whichever thread it
    ends. Meanwhile other threads compute without oneDNN too: the same results to rounding.
    """
    if not ARM:
        yield
        return
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(more: int) -> None:
    global _users, _before
    with _lock:
        if _users == 0:
            _before = bool(torch.backends.mkldnn.enabled)
            torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
        _users += more
        if _users == 0:
            torch.backends.mkldnn.enabled = _before  # type: ignore[assignment]
