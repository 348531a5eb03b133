"""`regard ask`, and the address of `regard serve`; bench/serve.py starts its processes."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from regard.cli.main import app
from regard.errors import RegardError
from regard.serve.client import Client
from regard.serve.running import Serving


def asked(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["ask", *words])
    if isinstance(result.exception, RegardError):
        return 2, str(result.exception)
    return result.exit_code, result.output


def test_a_server_is_asked(serving: Serving, load: Any) -> None:
    truth = load("translation").predict("the dog sleeps", n_best=3)
    assert (
        asked(serving.url, "the", "dog", "sleeps")[1].strip()
        == load("translation").predict("the dog sleeps").text
    )
    lines = asked(serving.url, "the dog sleeps", "--n-best", "3")[1].splitlines()
    assert [line.split("\t")[1] for line in lines] == [one.text for one in truth.alternatives]
    status, streamed = asked(serving.url, "the dog sleeps", "--stream")
    assert status == 0 and streamed.strip() == load("translation").predict("the dog sleeps").text
    status, traced = asked(serving.url, "the dog sleeps", "--trace")
    assert status == 0 and "dog" in traced
    _, content = asked(serving.url, "the dog sleeps", "--json")
    assert json.loads(content)["score"] == pytest.approx(
        load("translation").predict("the dog sleeps").score, rel=1e-5
    )
    assert "Not streamed" in asked(serving.url, "the dog", "--stream", "--n-best", "2")[1]


def test_what_goes_wrong_is_told(serving: Serving, started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_API_KEY", raising=False)
    assert "no server answers there" in asked("http://127.0.0.1:9", "a")[1]
    assert "no address" in asked("ftp://x", "a")[1]
    assert "no model 'nobody'" in asked(serving.url, "a", "--model", "nobody")[1]
    assert "empty" in asked(serving.url, "")[1]
    url = started(keys=("right",)).url
    assert "refuses the key" in asked(url, "the dog")[1]
    assert "refuses the key" in asked(url, "the dog", "--key", "wrong")[1]
    assert asked(url, "the dog", "--key", "right")[0] == 0


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    statuses = [429, 503, 200]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            status = statuses.pop(0) if statuses else 429
            self.send_response(status)
            self.send_header("retry-after", "3")
            self.end_headers()
            self.wfile.write(
                b'{"answers": [{"text": "yes"}]}' if status == 200 else b'{"error": {"message": "busy"}}'
            )

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        client = Client(f"http://127.0.0.1:{server.server_port}")
        assert client.predict("a")["answers"][0]["text"] == "yes"
        assert slept == [3.0, 3.0]
        with pytest.raises(RegardError, match="busy"):
            client.predict("a")
        assert len(slept) == 6
    finally:
        server.shutdown()
        server.server_close()


def test_another_address_needs_a_key(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_API_KEY", raising=False)
    result = CliRunner().invoke(
        app, ["serve", str(folders["translation"]), "--host", "0.0.0.0", "--port", "0"]
    )
    assert isinstance(result.exception, RegardError) and "--key-file" in str(result.exception)
