"""Work done ahead in threads: order, bounds, errors, and termination."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from regard.data.prefetch import WAITING, prefetched


def alive() -> int:
    return sum(thread.name.startswith("regard-prefetch") for thread in threading.enumerate())


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order_whoever_is_faster(workers: int) -> None:
    def slow_when_even(number: int) -> int:
        time.sleep(0.003 if number % 2 == 0 else 0.0)
        return number * number

    assert list(prefetched(slow_when_even, range(20), workers)) == [number * number for number in range(20)]
    assert alive() == 0


def test_no_more_is_begun_than_allowed() -> None:
    begun: list[int] = []
    results = prefetched(lambda number: begun.append(number) or number, range(1000), 2)
    assert next(results) == 0
    time.sleep(0.05)
    assert len(begun) <= 2 * (1 + WAITING) + 1
    results.close()  # type: ignore[attr-defined]
    assert alive() == 0


def test_several_threads_are_at_work_at_once() -> None:
    together = threading.Barrier(3, timeout=10)

    def wait(number: int) -> int:
        together.wait()
        return number

    assert list(prefetched(wait, range(6), 3)) == list(range(6))


def test_an_exception_comes_where_its_result_would_have() -> None:
    def picky(number: int) -> int:
        if number == 3:
            raise ValueError("three is no good")
        return number

    results, taken = prefetched(picky, range(10), 2), []
    with pytest.raises(ValueError, match="three is no good"):
        for number in results:
            taken.append(number)
    assert taken == [0, 1, 2]
    assert alive() == 0


def test_an_exception_of_the_source_ends_the_threads_too() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(prefetched(lambda number: number, source(), 2))
    assert alive() == 0


def test_whoever_stops_taking_stops_the_threads() -> None:
    done: list[int] = []

    def work(number: int) -> int:
        time.sleep(0.01)
        done.append(number)
        return number

    try:
        for number in prefetched(work, range(100), 2):
            if number == 2:
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        pass
    deadline = time.monotonic() + 5
    while alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert alive() == 0
    count = len(done)
    time.sleep(0.05)
    assert len(done) == count < 20
