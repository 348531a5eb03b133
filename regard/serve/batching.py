"""One thread that computes: rows of many requests together, and streams step by step in between.

Rows wait in a bounded queue. The thread takes the oldest row, and with it those that ask the same and are not much
longer. A row whose client has left, or whose deadline has passed, is dropped before it is computed.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from regard.serve.lag import LoopLag
from regard.serve.measuring import Metrics
from regard.serve.options import ServeOptions
from regard.serve.refusing import Busy, Refused

LONGER = 2.0
"""A row joins a batch if it is at most this many times as long as the oldest row, …"""
SLACK = 16
"""… or this much longer."""
COST = 3e7
"""Bound of rows × length² of a batch: the attention of long rows takes memory."""
MEMORY = 0.8
"""Weight of the past in the mean duration of a batch."""


class RowQuestion(Protocol):
    """What is asked about rows. Rows with equal questions can be computed together."""

    def answer(self, values: Sequence[Any]) -> Sequence[Any]:
        """The answer to each value, or the exception that says why there is none."""

    def written(self, answers: Sequence[Any]) -> int:
        """Number of tokens of the answers."""

    def __hash__(self) -> int: ...


class AnswerJob:
    """The rows of one request, and its future, which belongs to the event loop of the request."""

    __slots__ = ("began", "deadline", "dropped", "future", "left", "loop", "question", "results")

    def __init__(self, question: RowQuestion, rows: int, timeout: float) -> None:
        self.question, self.results, self.left = question, [None] * rows, rows
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[list[Any]] = self.loop.create_future()
        self.began = time.monotonic()
        self.deadline, self.dropped = self.began + timeout, False

    @property
    def late(self) -> bool:
        return time.monotonic() > self.deadline

    def done(self) -> None:
        """Called in the event loop."""
        if not self.future.done():
            self.future.set_result(self.results)


class Stream:
    """Events that are made one by one, and the queue through which an event loop reads them; None ends it."""

    __slots__ = ("begin", "deadline", "dropped", "events", "loop", "steps")

    def __init__(self, begin: Callable[[], Iterator[Any]], timeout: float) -> None:
        self.begin, self.loop = begin, asyncio.get_running_loop()
        self.events: asyncio.Queue[Any] = asyncio.Queue()
        self.steps: Iterator[Any] | None = None
        self.deadline, self.dropped = time.monotonic() + timeout, False

    def step(self) -> bool:
        """Make one event; whether there are more."""
        if self.dropped:
            self.close()
            return False
        try:
            if time.monotonic() > self.deadline:
                raise too_late()
            if self.steps is None:
                self.steps = self.begin()
            event = next(self.steps)
        except StopIteration:
            event = None
        except Exception as error:
            event = error
        self.send(event)
        if event is None or isinstance(event, Exception):
            self.close()
            return False
        return True

    def send(self, event: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self.events.put_nowait, event)

    def close(self) -> None:
        close = getattr(self.steps, "close", None)
        if close is not None:
            with contextlib.suppress(Exception):
                close()
        self.steps = None


def too_late() -> Refused:
    return Refused(504, "the answer took too long.", fix="Ask for less, or pass a longer timeout.")


Waiting = tuple[AnswerJob, int, Any, int]
"""A row that waits: its job, its number there, its value and its length."""


class Batcher:
    """The queue and its thread.

    prepare   called by the thread before it computes anything: loads the models
    """

    def __init__(self, options: ServeOptions, metrics: Metrics, prepare: Callable[[], None]) -> None:
        self.options, self.metrics, self._prepare, self.lag = options, metrics, prepare, LoopLag()
        self._rows: deque[Waiting] = deque()
        self._streams: deque[Stream] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._prepared = threading.Event()
        self._seconds, self._computing, self._stopped = 0.0, 0, False
        self.ready, self.failed = False, None  # type: bool, BaseException | None

    def start(self) -> None:
        """Start the thread, if it does not run."""
        with self._changed:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="regard serve", daemon=True)
                self._thread.start()

    def prepared(self) -> None:
        """Wait until the models are loaded; raises what went wrong."""
        self._prepared.wait()
        if self.failed is not None:
            raise self.failed

    def stop(self, patience: float = 10.0) -> None:
        """End the thread after what it computes now."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(patience)

    @property
    def room(self) -> int:
        """How many more rows may wait; fewer if the event loop is late, because requests wait in its sockets too."""
        return math.ceil(self.options.queue * self.lag.share) - len(self._rows)

    @property
    def waiting(self) -> int:
        return len(self._rows)

    @property
    def busy(self) -> bool:
        """Whether anything waits or is computed."""
        return bool(self._rows or self._computing or self._streams)

    def expected(self, more: int = 0) -> float:
        """Seconds until the answer of a row that joins the queue now."""
        if not self._rows and not self._computing:
            return 0.0  # even if the last batch took long
        batches = (len(self._rows) + more) / self.options.max_batch + bool(self._computing)
        return batches * self._seconds + self.lag.until_answered

    def submit(
        self, question: RowQuestion, values: Sequence[Any], lengths: Sequence[int], timeout: float
    ) -> AnswerJob:
        """Let rows wait for their answers; raises `Busy` if they would wait for too long."""
        self.start()
        job = AnswerJob(question, len(values), timeout)
        with self._changed:
            expected = self.expected(len(values))
            if len(values) > self.room or expected > timeout:
                raise Busy(expected)
            rows = zip(range(len(values)), values, lengths, strict=True)
            self._rows.extend((job, *row) for row in rows)
            self._changed.notify()
        return job

    def stream(self, begin: Callable[[], Iterator[Any]], timeout: float) -> Stream:
        """Let an iterator make its events in the thread, in turns with everything else."""
        self.start()
        stream = Stream(begin, timeout)
        with self._changed:
            if len(self._streams) >= self.options.streams:
                raise Busy(self.expected())
            self._streams.append(stream)
            self._changed.notify()
        return stream

    def _work(self) -> None:
        try:
            self._prepare()
        except BaseException as error:
            self.failed = error
        self.ready = self.failed is None
        self._prepared.set()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._rows or self._streams or self._stopped)
                if self._stopped:
                    return
                self._gather()
                batch = self._take()
                self._computing = len(batch) + len(self._streams)
            if batch:
                self._compute(batch)
            for _ in range(len(self._streams)):
                stream = self._streams.popleft()
                if stream.step():
                    self._streams.append(stream)
            self._computing = 0

    def _gather(self) -> None:
        """Wait a little for more rows, if nothing else is to do."""
        if not self._rows or self._streams:
            return
        until = self._rows[0][0].began + self.options.max_wait
        while len(self._rows) < self.options.max_batch and not self._stopped:
            left = until - time.monotonic()
            if left <= 0 or not self._changed.wait(left):
                return

    def _take(self) -> list[Waiting]:
        """The oldest row and those that can be computed with it."""
        now, kept = time.monotonic(), deque[Waiting]()
        taken: list[Waiting] = []
        question, longest, widest = None, 0.0, 0
        for row in self._rows:
            job, _, _, length = row
            if job.dropped or job.deadline < now:
                self.metrics.dropped(1)
                continue
            if question is None:
                question, longest = job.question, max(LONGER * length, length + SLACK)
            largest = max(widest, length)
            fits = len(taken) < self.options.max_batch and length <= longest
            fits = fits and (not taken or (len(taken) + 1) * largest**2 <= COST)
            if fits and (job.question is question or job.question == question):
                taken.append(row)
                widest = largest
            else:
                kept.append(row)
        self._rows = kept
        return taken

    def _compute(self, batch: Sequence[Waiting]) -> None:
        began = time.monotonic()
        try:
            if self.failed is not None:
                raise self.failed
            question = batch[0][0].question
            answers = question.answer([value for _, _, value, _ in batch])
            self.metrics.tokens(question.written(answers))
        except Exception as error:
            answers = [error] * len(batch)
        seconds = time.monotonic() - began
        self._seconds = MEMORY * self._seconds + (1 - MEMORY) * seconds if self._seconds else seconds
        self.metrics.batch(len(batch), seconds)
        finished: dict[asyncio.AbstractEventLoop, list[AnswerJob]] = defaultdict(list)
        for (job, place, _, _), answer in zip(batch, answers, strict=True):
            job.results[place] = answer
            job.left -= 1
            if job.left == 0:
                finished[job.loop].append(job)
        for loop, jobs in finished.items():
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_finish, jobs)


def _finish(jobs: Sequence[AnswerJob]) -> None:
    for job in jobs:
        job.done()
