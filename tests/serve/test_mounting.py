"""The application by itself: in any ASGI server, as a copy, with its documentation."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import threading
from contextlib import nullcontext
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

import regard
from regard.errors import RegardError


def ask(app: Any, text: str) -> httpx.Response:
    async def main() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://server") as client:
            while (await client.get("/v2/health/ready")).status_code == 503:
                await asyncio.sleep(0.01)
            return await client.post("/predict", json={"text": text})

    return asyncio.run(main())


def test_the_application_works_in_any_server_and_as_a_copy(folders: dict[str, Path], load: Any) -> None:
    app = regard.serve.app(folders["translation"], device="cpu", timeout=9.0)
    truth = load("translation").predict("the dog").text
    copied = pickle.loads(pickle.dumps(app))
    assert copied.options == app.options
    for one in (app, copied):
        assert ask(one, "the dog").json()["answers"][0]["text"] == truth
        assert ask(one, "the dog").status_code == 200  # in another event loop
        one.batcher.stop()


def test_requests_wait_for_the_models(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.serve.models import ServedModels

    go, load = threading.Event(), ServedModels.load
    monkeypatch.setattr(ServedModels, "load", lambda self: (go.wait(5), load(self)))
    app = regard.serve.app(folders["translation"], device="cpu")

    async def main() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server") as client:
            found = [(await client.get("/v2/health/live")).status_code]
            found.append((await client.get("/v2/health/ready")).status_code)
            found.append((await client.post("/predict", json={"text": "a"})).status_code)
            go.set()
            while not app.ready:
                await asyncio.sleep(0.01)
            return [*found, (await client.post("/predict", json={"text": "a dog"})).status_code]

    assert asyncio.run(main()) == [200, 503, 503, 200]
    app.batcher.stop()


@pytest.mark.parametrize("broken", [False, True])
def test_a_start_may_wait_for_the_models(
    folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    """Ray Serve sends requests as soon as the application has started."""
    if broken:
        monkeypatch.setattr("regard.serve.models.ServedModels.load", lambda self: 1 / 0)
    app = regard.serve.app(folders["translation"], device="cpu", load_first=True)
    said, events = [], iter(("lifespan.startup", "lifespan.shutdown"))

    async def receive() -> dict[str, Any]:
        if said:
            assert app.ready
        return {"type": next(events)}

    async def send(message: Any) -> None:
        said.append(message["type"])

    with pytest.raises(ZeroDivisionError) if broken else nullcontext():
        asyncio.run(app({"type": "lifespan", "state": {}}, receive, send))
    assert said[0] == ("lifespan.startup.failed" if broken else "lifespan.startup.complete")
    app.batcher.stop()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError):
        regard.serve.app(tmp_path)
    with pytest.raises(RegardError, match="no run"):
        regard.serve.app()


def test_the_description_is_whole(client: httpx.Client) -> None:
    found = client.get("/openapi.json").json()
    assert found["openapi"].startswith("3.")
    references = re.findall(r'"\$ref":\s*"#/components/schemas/([^"]+)"', json.dumps(found))
    assert references and set(references) <= set(found["components"]["schemas"])
    for path, operations in found["paths"].items():
        for method in operations:
            answer = client.request(method, path.replace("{name}", "translation"), json={})
            assert answer.status_code not in (404, 405, 500), path


def test_the_page_asks_no_other_server(client: httpx.Client) -> None:
    answer = client.get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert "http:" not in answer.text and "https:" not in answer.text and "//" not in answer.text
    HTMLParser().feed(answer.text)
    for path in ("/predict", "/stream", "/chat", "/generate", "/v2/models/{name}/infer"):
        assert f'data-path="{path}"' in answer.text
