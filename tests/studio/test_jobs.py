"""One worker for each run: answers in order, none lost; long work tells its progress, gives way, can be cancelled."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from regard.errors import RegardError
from regard.studio.jobs import Cancelled, Job, Jobs, Progress, Worker
from tests.studio.client import Client


@pytest.fixture
def worker() -> Any:
    made = Worker("test")
    yield made
    made.stop()


def test_answers_come_in_the_order_of_the_requests(worker: Worker) -> None:
    served: list[int] = []
    futures = [worker.submit(lambda number=number: served.append(number) or number) for number in range(100)]
    assert [future.result(10) for future in futures] == list(range(100)) == served


def test_an_error_reaches_who_asked_and_the_next_is_served(worker: Worker) -> None:
    broken = worker.submit(lambda: 1 // 0)
    assert worker.submit(lambda: 7).result(10) == 7
    assert isinstance(broken.exception(10), ZeroDivisionError)


def test_long_work_tells_its_progress_and_gives_way(worker: Worker) -> None:
    seen: list[tuple[int, int]] = []
    asked = threading.Event()
    answered: list[str] = []

    def work(progress: Progress) -> str:
        for step in range(3):
            progress(step, 3)
            seen.append((job.done, job.of))
            if step == 0:
                assert asked.wait(10)
        answered.append("long")
        return "done"

    started = threading.Event()
    worker.submit(lambda: started.wait(10))
    job = worker.start(work)
    started.set()
    short = worker.submit(lambda: answered.append("before"))
    short.result(10)
    late = worker.submit(lambda: answered.append("between"))
    asked.set()
    late.result(10)
    worker.submit(lambda: None).result(10)
    while not job.finished:
        pass
    assert job.result == "done" and seen == [(0, 3), (1, 3), (2, 3)] and (job.done, job.of) == (3, 3)
    assert answered[-1] == "long" and {"before", "between"} <= set(answered)


def test_long_work_is_cancelled_at_its_next_step(worker: Worker) -> None:
    begun = threading.Event()

    def work(progress: Progress) -> None:
        while True:
            begun.set()
            progress(0, 1)

    jobs = Jobs()
    job = jobs.add(worker.start(work))
    assert begun.wait(10)
    jobs.cancel(job.identifier)
    assert worker.submit(lambda: 1).result(10) == 1
    while not job.finished:
        pass
    assert isinstance(job.error, Cancelled) and job.result is None


def test_old_jobs_are_forgotten_and_cancelled() -> None:
    jobs = Jobs(most=2)
    first, *_ = [jobs.add(Job()) for _ in range(3)]
    assert first.cancelled and len(jobs) == 2
    with pytest.raises(RegardError, match="no such job"):
        jobs.find(first.identifier)


def test_a_worker_that_stops_leaves_nobody_waiting() -> None:
    worker, held = Worker("test"), threading.Event()
    worker.submit(lambda: held.wait(10))
    waiting = worker.submit(lambda: 1)
    threading.Timer(0.05, held.set).start()
    worker.stop()
    assert waiting.cancelled()


def test_ten_tabs_at_once_are_all_served(client: Client) -> None:
    def tab(number: int) -> list[int]:
        found = []
        for step in range(3):
            edits = [{"edit": "pin", "step": 0, "position": (number + step) % 3}]
            told = client.look("translation", {"source": {"row": 0}}, edits=edits)
            found.append(told["score"])
        return found

    with ThreadPoolExecutor(10) as pool:
        futures = [pool.submit(tab, number) for number in range(10)]
        wait(futures)
    alone = [tab(number) for number in range(3)]
    for number, future in enumerate(futures):
        assert future.result() == pytest.approx(alone[number % 3], rel=1e-5)


def test_a_job_is_asked_and_cancelled_over_http(client: Client) -> None:
    answer = client.ask("rows", run="second", sort="strange")
    job = answer.json()["job"]
    assert client.delete(f"/api/jobs/{job}", headers={"x-regard": "1"}).json() == {"cancelled": True}
    found = client.done(answer)
    assert "result" in found or found["error"]["message"] == "cancelled."
    assert client.get("/api/jobs/nothing-at-all").status_code == 400
