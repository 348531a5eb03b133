"""A project with data and a spec, and a finished run in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from regard.fitting.experiment import Experiment

from .small_run import SPEC, pairs


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data and a spec."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, count in (("words", 40), ("dev", 6)):
        lines = (f"{left}\t{right}\n" for left, right in pairs(count))
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "my.yaml").write_text(SPEC, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A finished run, to be copied."""
    folder, before = tmp_path_factory.mktemp("finished"), Path.cwd()
    os.chdir(folder)
    try:
        Path("my.yaml").write_text(SPEC, encoding="utf-8")
        for name in ("words", "dev"):
            Path(f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs(40)), encoding="utf-8")
        Experiment.start("my.yaml", run=Path("run"), device="cpu", quiet=True).train()
    finally:
        os.chdir(before)
    yield folder / "run"


@pytest.fixture
def run(project: Path, finished: Path) -> Path:
    shutil.copytree(finished, project / "run")
    return Path("run")
