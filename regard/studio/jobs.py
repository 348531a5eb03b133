"""One worker thread for each run: its requests are served in order, long ones with progress, and can be cancelled.

A long job gives way between two of its steps: what was asked in the meantime is answered first.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from regard.errors import RegardError

Progress = Callable[[int, int], None]
"""Called with how many steps are done, and of how many; raises `Cancelled` if the job was cancelled."""
Result = TypeVar("Result")
MOST_KEPT = 64
MOST_WAITING = 256


class Cancelled(Exception):
    """The job was cancelled."""


@dataclass
class Job:
    """Long work: how far it is, and its result or its error."""

    done: int = 0
    of: int = 0
    result: Any = None
    error: BaseException | None = None
    finished: bool = False
    cancelled: bool = False
    identifier: str = field(default_factory=lambda: secrets.token_urlsafe(12))


class Jobs:
    """The latest jobs by their identifier."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most, self._known, self._lock = most, OrderedDict[str, Job](), threading.Lock()

    def add(self, job: Job) -> Job:
        with self._lock:
            self._known[job.identifier] = job
            while len(self._known) > self.most:
                _, oldest = self._known.popitem(last=False)
                oldest.cancelled = True
        return job

    def find(self, identifier: str) -> Job:
        with self._lock:
            if identifier not in self._known:
                raise RegardError("there is no such job.", where="job", fix="Ask again.")
            return self._known[identifier]

    def cancel(self, identifier: str) -> None:
        self.find(identifier).cancelled = True

    def __len__(self) -> int:
        return len(self._known)


class Worker:
    """A thread that serves requests in their order."""

    def __init__(self, name: str) -> None:
        self._short: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._long: deque[tuple[Job, Callable[[Progress], Any]]] = deque()
        self._order: deque[bool] = deque()
        self._changed, self._stopped = threading.Condition(), False
        self._thread = threading.Thread(target=self._serve, name=f"studio {name}", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """The answer of some short work, as soon as all that was submitted before is done."""
        future: Future[Result] = Future()
        with self._changed:
            if len(self._short) >= MOST_WAITING:
                raise RegardError("too many requests are waiting.", fix="Wait until some are answered.")
            self._short.append((future, work))
            self._order.append(True)
            self._changed.notify()
        return future

    def start(self, work: Callable[[Progress], Any]) -> Job:
        """Begin long work."""
        job = Job()
        with self._changed:
            if len(self._long) >= MOST_KEPT:
                raise RegardError("too many jobs are waiting.", fix="Cancel some.")
            self._long.append((job, work))
            self._order.append(False)
            self._changed.notify()
        return job

    def stop(self, patience: float = 5.0) -> None:
        """End the thread: what waits is cancelled, and long work stops at its next step."""
        with self._changed:
            self._stopped = True
            for future, _ in self._short:
                future.cancel()
            for job, _ in self._long:
                job.cancelled = True
            self._changed.notify()
        self._thread.join(patience)

    def _serve(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._order or self._stopped)
                if self._stopped:
                    return
                short = self._order.popleft()
                one = self._short.popleft() if short else self._long.popleft()
            _answer(*one) if short else self._work(*one)  # type: ignore[arg-type]
            del one  # what it holds may be large

    def _work(self, job: Job, work: Callable[[Progress], Any]) -> None:
        def progress(done: int, of: int) -> None:
            job.done, job.of = done, of
            self._give_way()
            if job.cancelled or self._stopped:
                raise Cancelled

        try:
            progress(0, job.of)
            job.result = work(progress)
            job.done = job.of = max(job.of, 1)
        except Cancelled as error:
            job.cancelled, job.error = True, error
        except BaseException as error:
            job.error = error
        finally:
            job.finished = True

    def _give_way(self) -> None:
        """Answer the short requests that wait."""
        while True:
            with self._changed:
                if not self._short or self._stopped:
                    return
                self._order.remove(True)
                one = self._short.popleft()
            _answer(*one)


def _answer(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(work())
    except BaseException as error:
        future.set_exception(error)
