"""The files of a run: permissions, names, leftovers of killed writes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

import regard
from regard.fitting.experiment import Experiment

from .small_run import contents, pairs, start, train


def test_the_umask_decides_who_may_read_a_run(project: Path) -> None:
    before = os.umask(0o027)
    try:
        start().train()
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in Path("run").rglob("*") if path.is_file()
    }
    assert set(modes.values()) == {0o640}, modes


def test_every_file_of_a_run_is_its_own(run: Path) -> None:
    from regard.storage import manifest

    listed = manifest.read(run)
    assert {name for name in contents(run) if not listed.owns(name)} == {"manifest.json"}


def test_leftovers_of_killed_writes_go_and_files_of_others_stay(run: Path) -> None:
    leftovers = [
        run / ".model.safetensors.0123abcd.regard-tmp",
        run / "state" / ".training.safetensors.0123abcd.regard-tmp",
        run / "state" / "kept" / ".step-00000002.safetensors.0123abcd.regard-tmp",
    ]
    others = [run / ".model.safetensors.0123abcd", run / "mine.regard-tmp", run / ".tmp12ab"]
    for path in (*leftovers, *others):
        path.write_text("half")
    Experiment.resume(run, device="cpu", quiet=True).train()
    assert not any(path.exists() for path in leftovers)
    assert all(path.exists() for path in others)


def test_home_is_understood(
    project: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert train("my.yaml", "--output=~/run") == 0
    regard.load("~/run", device="cpu").save("~/model")
    Experiment.resume(Path("~/run"), device="cpu", quiet=True).close()
    settings = ["training.steps=1", "encoder.size=4", "decoder.size=4"]
    regard.fit(pairs(40), run="~/fitted", overrides=settings, device="cpu", quiet=True)
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"run", "model", "fitted"}
    assert not (project / "~").exists()
