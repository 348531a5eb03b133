"""Fixtures and settings for all tests: a private cache per test, one thread per worker, no oneDNN on ARM, which tests
run and in which order, a command-line runner, and a browser."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import settings

from regard.structures.kernels.cpu.parallel import ARM

gc.disable()  # until all tests are collected
torch.set_num_threads(1)
os.environ.setdefault("REGARD_COMPILE", "first")  # else the bits of the first runs depend on time
if ARM:  # as in training and prediction; networks called directly would be far slower with it
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
if (
    not torch.accelerator.is_available()
):  # each would keep a traceback for the day when one is, a millisecond a seed
    for devices in (torch.cuda, torch.xpu, torch.mtia):
        devices.manual_seed_all = lambda seed: None  # type: ignore[assignment]
os.fsync = lambda file: None  # no test cuts the power, and each waits 5 ms for the disk
settings.register_profile("busy", deadline=None)  # an example that waits for a busy core must not fail
settings.register_profile("repeatable", settings.get_profile("busy"), derandomize=True)
settings.load_profile("busy")

WEIGHTS = {
    "tests/nn/test_fused.py": 100,  # compiles every large kernel in both precisions; in the first worker
    "tests/kernels/test_recurrence_cuda.py": 55,
    "tests/structures/test_kernels_cuda.py": 40,
    "tests/studio/test_browser.py": 50,
    "tests/live/test_browser.py": 30,
    "tests/report/": 30,
    "tests/fuzz/": 40,
    "tests/parts/test_floors.py": 20,
    "tests/test_readme.py": 40,
    "tests/plugin/": 60,
    "tests/parts/test_options.py": 60,
    "tests/experiment/": 80,
    "tests/cli/": 80,
    "tests/training/": 45,
    "tests/documents/": 30,
    "tests/course/": 40,
    "tests/studio/": 20,
    "tests/questions/": 15,
    "tests/bench/": 15,
    "tests/model/": 45,
    "tests/kernels/": 40,
    "tests/parts/": 60,
}
"""Seconds of the places with long tests or long fixtures, roughly. Those at the top need no large kernels, which
the first worker compiles meanwhile. A file has the first place that it is in."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--learning-seed",
        type=int,
        default=0,
        help="added to the seeds of the tests that train a model and measure what it learned (-m learning)",
    )
    parser.addoption(
        "--thorough",
        action="store_true",
        help="also run the long tests (thorough) and every case of the tests with very many (thinned)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "learning: depends on what a model learned with --learning-seed")
    config.addinivalue_line("markers", "thorough: takes long, and runs with --thorough alone")
    config.addinivalue_line(
        "markers",
        "thinned(n): has very many cases; about one in n runs, the same ones each time, or all with --thorough",
    )


@pytest.fixture(scope="session")
def learning_seed(request: pytest.FixtureRequest) -> int:
    """Added to every seed of a learning test. Whatever uses it, directly or through a fixture, is marked
    `learning`: `pytest -m learning --learning-seed 2`. Every bar holds with a margin for 0 to 3."""
    seed: int = request.config.getoption("--learning-seed")
    return seed


@pytest.fixture(scope="session")
def thorough(request: pytest.FixtureRequest) -> bool:
    """Whether to try everything, however long it takes."""
    found: bool = request.config.getoption("--thorough")
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the learning tests, leave out what only a thorough run has, and deal the rest to the workers."""
    for item in items:
        if "learning_seed" in getattr(item, "fixturenames", ()):
            item.add_marker("learning")
    if not config.getoption("--thorough"):
        kept = list(quick(items))
        config.hook.pytest_deselected(items=list(dict.fromkeys(items).keys() - set(kept)))
        items[:] = kept
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        items[:] = dealt(items, workers)


def quick(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Everything but what is marked `thorough`, and of each test marked `thinned` its first case and one in n by the
    digest of its name: a rule of places would leave out whole values where the number of values divides n."""
    begun: set[str] = set()
    for item in items:
        if item.get_closest_marker("thorough"):
            continue
        thinned = item.get_closest_marker("thinned")
        name = item.nodeid.partition("[")[0]
        if thinned is None or name not in begun or zlib.crc32(item.nodeid.encode()) % thinned.args[0] == 0:
            begun.add(name)
            yield item


def dealt(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """With `--dist worksteal` every worker begins with an equal share of the list, in order, and takes from the ends of
    the others' shares when it is done. So each share begins with places of `WEIGHTS`, of about the same weight,
    and ends with short tests, which can be run anywhere.
    """
    places: dict[str, list[pytest.Item]] = {place: [] for place in WEIGHTS}
    short = []
    for item in items:
        place = next((place for place in WEIGHTS if item.nodeid.startswith(place)), None)
        (short if place is None else places[place]).append(item)
    shares: list[list[pytest.Item]] = [[] for _ in range(workers)]
    weights = [0.0] * workers
    for place, found in places.items():
        lightest = weights.index(min(weights))
        shares[lightest] += found
        weights[lightest] += WEIGHTS[place] if found else 0
    left = len(items)
    for number, share in enumerate(shares):
        size = left // (workers - number)
        short = share[size:] + short
        del share[size:]
        missing = size - len(share)
        share += short[:missing]
        del short[:missing]
        left -= size
    return [item for share in shares for item in share]


def pytest_collection_finish() -> None:
    """Keep the garbage collector from walking through all modules and tests again and again."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One folder in a row for each test. `mktemp` would list all folders before for each new one."""
    folder = tmp_path_factory.mktemp("caches")
    return (folder / str(number) for number in count())


@pytest.fixture(autouse=True)
def own_cache(caches: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = next(caches)
    folder.mkdir()
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a window. One for each module: while it is open, no event loop can run in this process."""
    from tests.inspect.browser import browser

    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    executable = browser()
    if executable is None:
        pytest.skip("no Chromium on this machine")
    with sync.sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()
