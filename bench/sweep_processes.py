"""Sweeps in processes of their own, one of which is killed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST = 300.0


def start(words: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    """`regard …` in a folder; its lines go to a file of its own."""
    log = (folder / f"log-{time.monotonic_ns()}.txt").open("w")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(Path(__file__).resolve().parents[1]),
    }
    with log:
        return subprocess.Popen(
            [sys.executable, "-m", "regard", *words],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            text=True,
        )


def printed(folder: Path) -> str:
    """What all processes printed."""
    return "\n".join(path.read_text() for path in sorted(folder.glob("log-*.txt")))


@dataclass
class Killed:
    """What two processes left, one of which was killed in the middle of a trial, and started again."""

    sweep: Path
    number: int
    """The trial that was interrupted."""
    steps: int
    """The updates that it had in its log when its process was killed."""


def sweep_with_a_kill(words: Sequence[str], folder: Path, output: str) -> Killed:
    """Start two processes of the same command, kill one in the middle of a trial, start it again, and wait."""
    sweep = folder / output
    command = ["sweep", *words, "-o", output]
    processes = [start(command, folder), start(command, folder)]
    first = processes[0]
    try:
        number = steps = -1
        end = time.monotonic() + LONGEST
        while number < 0 and time.monotonic() < end and first.poll() is None:
            number, steps = training(sweep, first.pid)
            time.sleep(0.01)
        assert first.poll() is None, printed(folder)
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        processes[0] = start(command, folder)
        for process in processes:
            assert process.wait(LONGEST) == 0, printed(folder)
        return Killed(sweep, number, steps)
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()


def training(sweep: Path, pid: int) -> tuple[int, int]:
    """The number of a trial in the middle of its training by this process, and the rows of its log."""
    for folder in sorted((sweep / "trials").glob("*/seed-*")):
        log = folder / "log.csv"
        if not (folder / "state" / "training.safetensors").is_file() or _holder(folder) != pid:
            continue
        if "scores" not in _metrics(folder) and log.is_file():
            rows = log.read_text().count("\n") - 1
            if rows > 0:
                return int(folder.parent.name), rows
    return -1, -1


def _holder(folder: Path) -> int:
    try:
        return int(json.loads((folder / ".regard.lock").read_text())["pid"])
    except (OSError, ValueError):
        return 0


def _metrics(folder: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
        return found
    except (OSError, ValueError):
        return {}


def dev_score(folder: Path, metric: str) -> float:
    """The dev score that a run has written."""
    return float(_metrics(folder)["scores"]["dev"][metric]["value"])


def score_alone(command: str, folder: Path, run: str, metric: str) -> float:
    """The dev score of a printed command, typed alone."""
    words = shlex.split(command)
    assert words[0] == "regard"
    process = start([*words[1:], "-o", run, "--no-report", "--quiet"], folder)
    assert process.wait(LONGEST) == 0, printed(folder)
    return dev_score(folder / run, metric)
