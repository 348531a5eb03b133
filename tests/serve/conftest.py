"""One server for all tests, with a small run of each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest

import regard
from regard.serve.running import Serving
from tests.studio.small_runs import small_language_model, small_run


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("serve")
    found = {name: small_run(name, place / name) for name in ("translation", "dialog-context", "caption")}
    return found | {"lm": small_language_model(place / "lm")}


@pytest.fixture(scope="session")
def load(folders: dict[str, Path]) -> Any:
    """Loads the model of a run in Python, beside the server."""
    return cache(lambda name: regard.load(folders[name], device="cpu"))


@pytest.fixture(scope="session")
def serving(folders: dict[str, Path]) -> Iterator[Serving]:
    app = regard.serve.app(
        *folders.values(), device="cpu", grace=0.0, length=2000, body=200_000, body_time=0.5
    )
    with Serving(app) as started:
        yield started


@pytest.fixture(scope="session")
def client(serving: Serving) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=serving.url, timeout=60) as made:
        yield made


@pytest.fixture
def started(folders: dict[str, Path]) -> Iterator[Callable[..., Serving]]:
    """Starts a server of the translation model with options of its own."""
    running: list[Serving] = []

    def start(**options: Any) -> Serving:
        app = regard.serve.app(folders["translation"], device="cpu", **{"grace": 0.0, **options})
        running.append(Serving(app).__enter__())
        return running[-1]

    yield start
    for one in running:
        one.__exit__()
