"""Two programs timed against each other: equally warm, with the same torch, and with messages for a wrong peer."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

BENCH = Path(__file__).parents[2] / "bench"
COMPARING = ["text_cpu.py", "characters.py"]


@pytest.fixture(autouse=True)
def found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCH)


def run(script: str, *arguments: str) -> int:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [script, *arguments])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(BENCH / script), run_name="__main__")
    return int(ended.value.code or 0)


@pytest.mark.parametrize("script", COMPARING)
def test_a_wrong_peer_is_a_message(script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 'ModuleNotFoundError: No module named peer' >&2\nexit 1\n")
    other.chmod(0o755)
    for python, reason in (
        (tmp_path / "nowhere" / "python", "cannot be run: No such file or directory"),
        (tmp_path, "cannot be run: Permission denied"),
        (other, "cannot import .*ModuleNotFoundError: No module named peer"),
    ):
        assert run(script, "--peer-python", str(python)) == 2
        told = capsys.readouterr().err
        assert "Traceback" not in told and "--make-peer PEER" in told
        assert re.search(reason, told), told


def test_an_environment_that_cannot_be_made_is_a_message(tmp_path: Path) -> None:
    beside: Any = importlib.import_module("beside")
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(SystemExit, match="exit status 1"):
        beside.make_environment(tmp_path / "taken", ["torch"])


@pytest.mark.parametrize("script", COMPARING)
def test_the_peer_gets_our_torch(script: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    beside: Any = importlib.import_module("beside")
    commands: list[list[str]] = []

    def pretend(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(beside.subprocess, "run", pretend)
    assert run(script, "--make-peer", str(tmp_path / "peer")) == 0
    assert any(f"torch=={torch.__version__}" in command for command in commands)


def test_both_versions_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    beside: Any = importlib.import_module("beside")
    beside._report_versions({"ours": "2.13.0", "peer": "2.13.0"}, "JoeyNMT")
    assert capsys.readouterr().out == "torch: 2.13.0 (ours), 2.13.0 (JoeyNMT)\n"
    beside._report_versions({"ours": "2.13.0", "peer": "2.15.0"}, "JoeyNMT")
    assert "The versions differ" in capsys.readouterr().out


def test_both_sides_are_warm_whenever_they_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call right after the other side's costs ten times as much, as after a slow peer on a GPU."""
    timing: Any = importlib.import_module("structures_timing")
    clock, last = [0.0], [""]

    def side(name: str, milliseconds: float) -> Any:
        def call() -> None:
            clock[0] += milliseconds / 1000 * (1 if last[0] == name else 10)
            last[0] = name

        return call

    def now() -> float:
        return clock[0]

    monkeypatch.setattr(timing, "time", SimpleNamespace(perf_counter=now, process_time=now))
    samples = timing.alternating({"ours": side("ours", 0.5), "theirs": side("theirs", 90.0)}, "cpu", 15)
    assert len(samples["ours"]) == len(samples["theirs"]) >= 3
    assert {round(wall, 6) for wall, _ in samples["ours"]} == {0.5}
    assert {round(wall, 6) for wall, _ in samples["theirs"]} == {90.0}
