"""Run work ahead of time in threads; results keep their order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")

WAITING = 2
"""Number of finished results per thread that may wait in the queue."""


def prefetched(make: Callable[[Given], Made], given: Iterable[Given], workers: int) -> Iterator[Made]:
    """Yield make(x) for each x, in order, while up to `workers` threads compute the next results.

    At most workers · (1 + WAITING) results are pending, so memory stays bounded. An exception is raised at the position
    of its result. When the consumer stops early, pending calls are canceled and running ones are awaited.
    """
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
