"""A run that is killed, stopped or left resumes with identical results."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard.errors import RegardError
from regard.training import Interrupted, LineProgress, checkpoint

from .tiny import train

ROOT = Path(__file__).parents[2]
OPTIONS = {
    "epochs": 6,
    "accumulate": 2,
    "evaluate_every": 5,
    "checkpoint_every": 2,
    "ema": 0.9,
    "average": 2,
    "schedule": {"type": "plateau", "warmup": 3, "patience": 0},
}


def log_without_times(run: Path) -> list[dict[str, str]]:
    with (run / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        del row["seconds"], row["tokens_per_second"]
    return rows


def assert_same_run(one: Path, two: Path) -> None:
    first, second = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
    first, values_one = checkpoint.read(one / checkpoint.STATE)
    second, values_two = checkpoint.read(two / checkpoint.STATE)
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name
    for key in ("patience", "schedule", "snapshots", "generators"):
        assert values_one[key] == values_two[key]
    assert log_without_times(one) == log_without_times(two)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("whole")
    train(run, **OPTIONS)
    return run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the killed processes are forks")
def test_killed_at_random_moments_ends_with_the_same_bits(tmp_path: Path, uninterrupted: Path) -> None:
    command = [sys.executable, "-m", "tests.training.killing", str(tmp_path), "12", "5", json.dumps(OPTIONS)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, text=True, capture_output=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stderr
    steps = json.loads(ended.stdout)
    assert steps == sorted(steps) and any(0 < step < 36 for step in steps), steps
    assert_same_run(tmp_path, uninterrupted)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_writes_a_checkpoint_first(
    tmp_path: Path, uninterrupted: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as stopped:
        train(
            tmp_path, progress=LineProgress(), at_batch={17: lambda: signal.raise_signal(number)}, **OPTIONS
        )
    assert stopped.value.code == 128 + number
    assert checkpoint.read(tmp_path / checkpoint.STATE)[1]["position"]["step"] == 9
    assert f"Stopped at step 9. To go on: regard train --resume {tmp_path}" in capsys.readouterr().err
    assert signal.getsignal(number) is before
    train(tmp_path, resume=True, **OPTIONS)
    assert_same_run(tmp_path, uninterrupted)


def test_a_second_interrupt_does_not_wait(tmp_path: Path) -> None:
    def twice() -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, at_batch={3: twice})
    assert not (tmp_path / checkpoint.STATE).exists()


def test_a_finished_run_resumed_with_more_epochs_equals_a_longer_run(tmp_path: Path) -> None:
    train(tmp_path / "whole", epochs=4)
    train(tmp_path / "parts", epochs=2)
    result = train(tmp_path / "parts", epochs=4, resume=True)
    assert result.steps == 48
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    first = train(tmp_path, epochs=2)
    weights = (tmp_path / "model.safetensors").read_bytes()
    again = train(tmp_path, epochs=2, resume=True)
    assert (again.metrics, again.kept, again.steps) == (first.metrics, first.kept, first.steps)
    assert (tmp_path / "model.safetensors").read_bytes() == weights


def test_an_occupied_folder_is_refused(tmp_path: Path) -> None:
    train(tmp_path, epochs=1)
    with pytest.raises(RegardError, match=r"already contains a run.*Resume it"):
        train(tmp_path, epochs=1)


def test_the_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    train(tmp_path, epochs=1)
    tensors, values = checkpoint.read(tmp_path / checkpoint.STATE)
    tensors["weights/tags.weight"] = torch.zeros(3, 3)
    checkpoint.write(tmp_path / checkpoint.STATE, tensors, values)
    with pytest.raises(RegardError, match=r"another model: tags\.weight differ"):
        train(tmp_path, epochs=2, resume=True)


def test_a_broken_checkpoint_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / checkpoint.STATE).write_bytes(b"not a checkpoint")
    with pytest.raises(RegardError, match=r"training\.safetensors: this checkpoint cannot be read"):
        train(tmp_path, resume=True)


def test_nothing_in_a_run_is_pickled(uninterrupted: Path) -> None:
    files = {file.suffix for file in uninterrupted.rglob("*") if file.is_file()}
    assert files == {".csv", ".safetensors"}
    assert not list(uninterrupted.rglob("*.partial"))
