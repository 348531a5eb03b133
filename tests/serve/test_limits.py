"""What a server refuses, and how it ends."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from regard.errors import RegardError
from regard.serve.models import Asking
from regard.serve.options import ServeOptions, read_keys
from regard.serve.running import Serving
from tests.serve.hostile import answer_to, hostile_requests

Start = Callable[..., Serving]
ASKED = {"text": "the dog"}


class Held:
    """Holds the thread of the models until it is let go, and notes what it computes."""

    def __init__(self) -> None:
        self.go, self.values = threading.Event(), []  # type: threading.Event, list[Any]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    made, answer = Held(), Asking.answer

    def later(self: Asking, values: Any) -> Any:
        made.values += [value["source"] for value in values]
        made.go.wait(10)
        return answer(self, values)

    monkeypatch.setattr(Asking, "answer", later)
    yield made
    made.go.set()


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.mark.parametrize(
    ("status", "request_"),
    [
        (400, {"content": b"{"}),
        (400, {"content": b""}),
        (400, {"content": b"[" * 5000}),
        (415, {"content": b"{}", "headers": {"content-type": "text/plain"}}),
        (415, {"content": b"{}", "headers": {"content-encoding": "gzip"}}),
        (413, {"content": b" " * 300_000}),
        (413, {"content": iter([b" " * 150_000, b" " * 150_000])}),
        (422, {"json": {}}),
        (422, {"json": {"text": 3}}),
        (422, {"json": {**ASKED, "inputs": {"source": "a"}}}),
        (422, {"json": {"inputs": {"other": "a"}}}),
        (422, {"json": {**ASKED, "surprise": 1}}),
        (422, {"json": {**ASKED, "n_best": 10**6}}),
        (422, {"json": {**ASKED, "n_best": 65}}),
        (422, {"json": {**ASKED, "max_length": 10**6}}),
        (422, {"json": {**ASKED, "method": "magic"}}),
        (422, {"json": {**ASKED, "output": "nothing"}}),
        (422, {"json": {"text": "a" * 2001}}),
        (422, {"json": {"text": ["a"] * 300}}),
        (404, {"json": {**ASKED, "model": "nobody"}}),
    ],
)
def test_a_wrong_request_is_refused_with_a_reason(
    client: httpx.Client, status: int, request_: dict[str, Any]
) -> None:
    headers = {"content-type": "application/json", **request_.pop("headers", {})}
    answer = client.post("/predict", headers=headers, **request_)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"] and "Traceback" not in answer.text
    if status == 415:  # what curl sends with -d alone
        assert answer.json()["error"]["fix"]


def test_paths_methods_and_no_inputs(client: httpx.Client) -> None:
    assert client.get("/nothing").status_code == 404
    assert client.get("/predict").status_code == 405
    assert client.post("/predict", json={"text": []}).json()["answers"] == []


def test_a_body_that_does_not_come_is_given_up(serving: Serving) -> None:
    head = (
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", serving.port), timeout=5) as connection:
        connection.sendall(head)
        assert connection.recv(1000).startswith(b"HTTP/1.1 408")


def test_a_key_is_asked_for(started: Start) -> None:
    url = started(keys=("first", "second")).url
    for headers in (
        {},
        {"authorization": "Bearer third"},
        {"x-api-key": ""},
        {"authorization": "Basic first"},
    ):
        for path in ("/predict", "/v2/models/translation/infer", "/chat", "/metrics"):
            assert httpx.post(url + path, json=ASKED, headers=headers).status_code == 401
        assert httpx.get(f"{url}/v2/models/translation", headers=headers).status_code == 401
        assert httpx.get(f"{url}/v2/health/ready", headers=headers).status_code == 200
    for headers in ({"authorization": "Bearer second"}, {"x-api-key": "first"}):
        assert httpx.post(f"{url}/predict", json=ASKED, headers=headers).status_code == 200


def test_keys_are_read_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    file.write_text("one\n\n two \n")
    assert read_keys(file) == ("one", "two")
    file.write_text("\n")
    with pytest.raises(RegardError, match="no key"):
        read_keys(file)
    monkeypatch.setenv("REGARD_API_KEY", "three")
    assert read_keys(None) == ("three",)
    with pytest.raises(RegardError, match="cannot have"):
        ServeOptions(keys=("a\nb",))


def test_what_does_not_fit_the_queue_gets_429(started: Start, held: Held) -> None:
    url = started(queue=2, max_batch=1).url
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(httpx.post, f"{url}/predict", json=ASKED, timeout=20)]
        until(lambda: len(held.values) == 1)
        waiting += [pool.submit(httpx.post, f"{url}/predict", json=ASKED, timeout=20) for _ in range(2)]
        until(lambda: "regard_queue_rows 2.0" in httpx.get(f"{url}/metrics").text)
        refused = httpx.post(f"{url}/predict", json=ASKED)
        assert refused.status_code == 429 and int(refused.headers["retry-after"]) >= 1
        infer = httpx.post(f"{url}/v2/models/translation/infer", json={})
        assert infer.status_code == 429 and isinstance(infer.json()["error"], str)
        held.go.set()
        assert [one.result().status_code for one in waiting] == [200] * 3


def test_a_deadline_is_kept(started: Start, held: Held) -> None:
    server = started()
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(httpx.post, f"{server.url}/predict", json={**ASKED, "timeout": 0.3})
        until(lambda: len(held.values) == 1)
        second = httpx.post(f"{server.url}/predict", json={"text": "never", "timeout": 0.3})
        assert (first.result().status_code, second.status_code) == (504, 504)
    assert 0.3 <= time.monotonic() - began < 8
    held.go.set()
    assert httpx.post(f"{server.url}/predict", json=ASKED).status_code == 200
    assert "never" not in held.values


def test_a_client_that_leaves_costs_nothing(started: Start, held: Held) -> None:
    server = started(max_batch=1)
    body = json.dumps({"text": "left"}).encode()
    head = (
        b"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    )
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(httpx.post, f"{server.url}/predict", json=ASKED, timeout=20)
        until(lambda: len(held.values) == 1)
        with socket.create_connection(("127.0.0.1", server.port)) as connection:
            connection.sendall(head % len(body) + body)
            until(lambda: server.app.batcher.waiting == 1)
        until(lambda: server.app.active == 1)
        held.go.set()
        assert first.result().status_code == 200
    until(lambda: not server.app.batcher.busy)
    assert held.values == ["the dog"]


def test_a_stream_stops_when_its_client_leaves(serving: Serving) -> None:
    request = {"model": "lm", "text": "the ", "length": 2000}
    with httpx.stream("POST", f"{serving.url}/stream", json=request) as answer:
        assert answer.status_code == 200
        next(answer.iter_lines())
    until(lambda: not serving.app.batcher.busy)


def test_at_the_end_accepted_requests_are_answered_and_new_ones_refused(started: Start, held: Held) -> None:
    server = started(grace=0.3)
    with ThreadPoolExecutor(2) as pool, httpx.Client(base_url=server.url) as kept:
        assert kept.get("/v2/health/ready").status_code == 200
        first = pool.submit(httpx.post, f"{server.url}/predict", json=ASKED, timeout=20)
        until(lambda: len(held.values) == 1)
        ending = pool.submit(server.__exit__)
        until(lambda: server.app.draining)
        refused = kept.post("/predict", json=ASKED)
        assert refused.status_code == 503 and refused.headers["connection"] == "close"
        assert httpx.get(f"{server.url}/v2/health/ready").status_code == 503
        assert not ending.done()
        held.go.set()
        assert first.result().status_code == 200
        ending.result()
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.url)


def test_the_log_has_no_inputs_unless_asked(started: Start, tmp_path: Path) -> None:
    for inputs in (False, True):
        log = tmp_path / f"log-{inputs}"
        server = started(log=str(log), log_inputs=inputs)
        httpx.post(f"{server.url}/predict", json={"text": "secret dog"})
        httpx.get(f"{server.url}/a%0Ab")
        until(lambda log=log: len(log.read_text().splitlines()) == 2)  # type: ignore[misc]
        first, second = map(json.loads, log.read_text().splitlines())
        assert (first["path"], first["status"], first["rows"]) == ("/predict", 200, 1)
        assert ("secret" in log.read_text()) is inputs
        assert second["path"] == "/a\nb" and second["status"] == 404


def test_counts_for_prometheus(started: Start) -> None:
    url = started().url
    for text in ("the dog", "", "I see"):
        httpx.post(f"{url}/predict", json={"text": text})
    found = httpx.get(f"{url}/metrics").text
    assert 'regard_requests_total{route="/predict",status="200"} 2.0' in found
    assert 'regard_requests_total{route="/predict",status="422"} 1.0' in found
    assert 'regard_request_seconds_count{route="/predict"} 3.0' in found
    assert "regard_batch_rows_sum 3.0" in found


def test_hostile_requests(serving: Serving, capfd: pytest.CaptureFixture[str]) -> None:
    texts = ["the dog sleeps", "I see the old man"]
    found = [
        (answer_to(serving.port, one, patience=0.05), one)
        for one in hostile_requests("translation", texts, 150, random.Random(5))
    ]
    assert [one for one in found if one[0] in ("500", "hung")] == []
    assert len({status for status, _ in found}) > 3
    assert "Traceback" not in capfd.readouterr().err
    assert httpx.post(f"{serving.url}/predict", json=ASKED).status_code == 200
