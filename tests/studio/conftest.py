"""One studio for all tests, with a small run of each kind, and a client that has its cookie."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.studio.serving import Studio
from tests.studio.client import Client
from tests.studio.small_runs import KINDS, small_language_model, small_run


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("studio")
    found = {name: small_run(name, place / name) for name in KINDS}
    found["second"] = small_run("translation", place / "second", enlarged=2.0)
    return found | {"lm": small_language_model(place / "lm")}


@pytest.fixture(scope="session")
def studio(folders: dict[str, Path]) -> Iterator[Studio]:
    with regard.studio.start(*folders.values(), browser=False, device="cpu") as started:
        yield started


@pytest.fixture(scope="session")
def client(studio: Studio) -> Iterator[Client]:
    made = Client(studio)
    yield made
    made.close()


@pytest.fixture(scope="session")
def load(folders: dict[str, Path]) -> Any:
    """Loads the model of a run in Python, beside the studio."""
    return cache(lambda name: regard.load(folders[name], device="cpu"))
