"""A cache of its own for every test, one thread, since two workers share the machine, no oneDNN on ARM, and the command
line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from regard.kernels.onednn import ARM

torch.set_num_threads(1)
if ARM:  # as in trainings and predictions: networks that are called by themselves would take far longer
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
settings.register_profile("busy", deadline=None)  # an example that waits for a core is not a wrong one
settings.register_profile("repeatable", settings.get_profile("busy"), derandomize=True)
settings.load_profile("busy")

COMPILING = "tests/nn/test_fused.py"
"""Uses every large kernel in both precisions. Compiled in one process, they share the parts they are made of."""
MEANWHILE = tuple(
    f"tests/{folder}/" for folder in ("structures", "data", "inspect", "lab", "metrics", "spec", "worlds")
)
"""Tests that need none of them."""
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
"""Where single tests take ten seconds or more: they come first, so that the last ones are short, and no worker waits
long for the other."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The first worker begins with the first test, the second one in the middle (`--dist worksteal`): the one compiles
    while the other does what needs no large kernel, and neither waits for the other.
    """
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
    """Run a command in this process: exit code, standard output, standard error. A terminal has 200 columns, or as many
    as the module of the test calls COLUMNS."""
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
