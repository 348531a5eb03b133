"""Fixtures and settings for all tests: a private cache per test, one thread per worker, no oneDNN on ARM, and
a command-line runner."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from regard.structures.kernels.cpu.parallel import ARM

torch.set_num_threads(1)
if ARM:  # as in training and prediction; networks called directly would be far slower with it
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
settings.register_profile("busy", deadline=None)  # an example that waits for a busy core must not fail
settings.register_profile("repeatable", settings.get_profile("busy"), derandomize=True)
settings.load_profile("busy")

COMPILING = "tests/nn/test_fused.py"
"""Uses every large kernel in both precisions. One process compiles their common parts once."""
MEANWHILE = tuple(
    f"tests/{folder}/" for folder in ("structures", "data", "inspect", "lab", "metrics", "spec", "worlds")
)
"""Tests that need no large kernels."""
LONG = (
    "tests/test_readme.py",
    "tests/kernels/test_recurrence_cuda.py",
    "tests/plugin/",
    "tests/experiment/",
    "tests/training/test_processes.py",
    "tests/training/test_re",
    "tests/fuzz/",
    "tests/cli/",
    "tests/parts/",
)
"""Files with single tests of ten seconds or more. They come first, so that the workers finish with short
tests at about the same time."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--learning-seed",
        type=int,
        default=0,
        help="added to the seeds of the tests that train a model and measure what it learned (-m learning)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "learning: depends on what a model learned with --learning-seed")


@pytest.fixture(scope="session")
def learning_seed(request: pytest.FixtureRequest) -> int:
    """Added to every seed of a learning test. Whatever uses it, directly or through a fixture, is marked
    `learning`: `pytest -m learning --learning-seed 2`. Every bar holds with a margin for 0 to 3."""
    seed: int = request.config.getoption("--learning-seed")
    return seed


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the learning tests, and order all for two workers: with `--dist worksteal` the first worker begins
    with the first test and the second in the middle. The first compiles the large kernels while the second runs
    tests that need none of them."""
    for item in items:
        if "learning_seed" in getattr(item, "fixturenames", ()):
            item.add_marker("learning")
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers < 2:
        return
    compiling = [item for item in items if item.nodeid.startswith(COMPILING)]
    meanwhile = [item for item in items if item.nodeid.startswith(MEANWHILE)]
    rest = [item for item in items if not item.nodeid.startswith((COMPILING, *MEANWHILE))]
    rest.sort(key=lambda item: not item.nodeid.startswith(LONG))
    before = max(0, len(items) // workers - len(compiling))
    items[:] = [*compiling, *rest[:before], *meanwhile, *rest[before:]]


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("REGARD_CACHE", str(folder))
    return folder


@pytest.fixture
def regard(
    request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Run a command in this process and return its exit code, standard output and standard error. The
    terminal has 200 columns, or the test module's COLUMNS."""
    from regard.cli import main

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["regard", *arguments])
        monkeypatch.setenv("COLUMNS", str(getattr(request.module, "COLUMNS", 200)))
        capsys.readouterr()
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
