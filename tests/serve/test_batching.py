"""The queue: which rows are computed together."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from regard.serve.batching import Batcher
from regard.serve.measuring import Metrics
from regard.serve.options import ServeOptions
from regard.serve.refusing import Busy


@dataclass(eq=False)
class Noting:
    """Answers each number with its double, and notes the batches; the first one waits for `go`."""

    go: threading.Event = field(default_factory=threading.Event)
    batches: list[list[int]] = field(default_factory=list)

    def answer(self, values: Any) -> list[int]:
        self.batches.append(list(values))
        self.go.wait(5)
        return [2 * value for value in values]

    def written(self, answers: Any) -> int:
        return len(answers)


def run(options: ServeOptions, rows: list[tuple[Any, int, int]], first: Noting) -> list[Any]:
    """Submit a row (question, value, length) each, while the thread is held by the first one."""

    async def main() -> list[Any]:
        batcher = Batcher(options, Metrics(), lambda: None)
        jobs = [batcher.submit(first, [0], [1], 5)]
        while not first.batches:
            await asyncio.sleep(0.001)
        jobs += [batcher.submit(question, [value], [length], 5) for question, value, length in rows]
        first.go.set()
        found = [(await job.future)[0] for job in jobs]
        batcher.stop()
        return found

    return asyncio.run(main())


def test_rows_with_one_question_and_similar_lengths_go_together() -> None:
    one, other = Noting(), Noting()
    other.go.set()
    rows = [
        (one, 1, 10),
        (other, 2, 10),
        (one, 3, 12),
        (one, 4, 500),
        (one, 5, 9),
        (other, 6, 1),
        (one, 7, 400),
    ]
    assert run(ServeOptions(max_wait=0), rows, one) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert one.batches == [[0], [1, 3, 5], [4, 7]]
    assert other.batches == [[2, 6]]


def test_a_batch_is_bounded_and_the_oldest_come_first() -> None:
    one = Noting()
    assert run(ServeOptions(max_batch=3), [(one, n, 1) for n in range(1, 9)], one) == [
        2 * n for n in range(9)
    ]
    assert one.batches == [[0], [1, 2, 3], [4, 5, 6], [7, 8]]


def test_long_rows_go_in_small_batches() -> None:
    one = Noting()
    run(ServeOptions(), [(one, n, 3000) for n in range(1, 6)], one)
    assert one.batches == [[0], [1, 2, 3], [4, 5]]


def test_more_than_the_queue_holds_is_refused() -> None:
    one = Noting()

    async def main() -> None:
        batcher = Batcher(ServeOptions(queue=3, max_batch=1), Metrics(), lambda: None)
        batcher.submit(one, [0], [1], 5)
        while not one.batches:
            await asyncio.sleep(0.001)
        batcher.submit(one, [1, 2], [1, 1], 5)
        with pytest.raises(Busy):
            batcher.submit(one, [3, 4], [1, 1], 5)
        last = batcher.submit(one, [5], [1], 5)
        one.go.set()
        assert await last.future == [10]
        batcher.stop()

    asyncio.run(main())


def test_a_late_loop_shortens_the_queue() -> None:
    batcher = Batcher(ServeOptions(queue=100), Metrics(), lambda: None)
    assert batcher.room == 100
    batcher.lag.seconds = 0.15
    assert batcher.room == 100  # the machine is busy with something else
    batcher.lag.crowd = 200
    assert batcher.room == 50 and batcher.expected() == 0.0
    batcher._computing = 1
    assert batcher.expected() == pytest.approx(0.75)
    batcher.lag.seconds = 3.0
    assert batcher.room == 0


def test_a_model_that_cannot_be_loaded_says_why() -> None:
    def fail() -> None:
        raise OSError("gone")

    async def main() -> Any:
        batcher = Batcher(ServeOptions(), Metrics(), fail)
        job = batcher.submit(Noting(), [1], [1], 5)
        (found,) = await job.future
        assert not batcher.ready
        batcher.stop()
        return found

    assert isinstance(asyncio.run(main()), OSError)
