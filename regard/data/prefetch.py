"""Run work ahead of time in threads; results keep their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

MOST = 4
WAITING = 2
"""Number of finished results per thread that may wait in the queue."""


class _Kept(Protocol):
    @property
    def cached(self) -> bool: ...


def usual_workers(columns: Iterable[_Kept]) -> int:
    """Default number of threads that prepare batches: one per CPU core, at most 4. It is 0 if all columns are
    cached."""
    return 0 if all(column.cached for column in columns) else min(MOST, os.cpu_count() or 1)


def prefetched(make: Callable[[Given], Made], given: Iterable[Given], workers: int) -> Iterator[Made]:
    """Yield make(x) for each x, in order, while up to `workers` threads compute the next results.

    At most workers · (1 + WAITING) results are pending, so memory stays bounded. With 0 workers, `make` runs in the
    calling thread. An exception is raised at the position of its result. When the consumer stops early, pending calls
    are canceled and running ones are awaited.
    """
    if workers == 0:
        yield from map(make, given)
        return
    source = iter(given)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-prefetch")
    waiting: deque[Future[Made]] = deque()
    try:
        for one in source:
            waiting.append(pool.submit(make, one))
            if len(waiting) >= workers * (1 + WAITING):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
