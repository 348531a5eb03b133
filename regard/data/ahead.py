"""Work done ahead in threads, its results in order."""

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
"""Results that may wait to be taken, for each thread."""


class _Kept(Protocol):
    @property
    def cached(self) -> bool: ...


def usual_workers(columns: Iterable[_Kept]) -> int:
    """Threads to make batches of these columns in: as many as there are processors, but no more than 4; none where
    everything is encoded already."""
    return 0 if all(column.cached for column in columns) else min(MOST, os.cpu_count() or 1)


def ahead(make: Callable[[Given], Made], given: Iterable[Given], workers: int) -> Iterator[Made]:
    """make(x) for each x, in order, while up to `workers` threads are at the next ones; 0: here and now.

    At most workers · (1 + WAITING) are made and not yet taken, so that memory stays bounded. An exception comes out
    where its result would have; whoever stops taking, for whatever reason, stops the threads: what has not begun never
    does, and what has is waited for.
    """
    if workers == 0:
        yield from map(make, given)
        return
    source = iter(given)
    pool = ThreadPoolExecutor(workers, thread_name_prefix="regard-ahead")
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
