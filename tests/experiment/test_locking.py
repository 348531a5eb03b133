"""Two trainings never write into one folder."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment

from .small_run import pairs, start, train


def test_a_run_in_use_is_refused(run: Path) -> None:
    with_lock = Experiment.resume(run, device="cpu", quiet=True)
    for second in (
        lambda: Experiment.resume(run),
        lambda: start(overwrite=True),
        lambda: regard.fit(pairs(40), run=run, overwrite=True),
    ):
        with pytest.raises(RegardError, match="run: this process already uses this run"):
            second()
    with_lock.close()
    Experiment.resume(run, device="cpu", quiet=True).train()
    assert not list(run.glob(".*"))


def test_a_training_in_another_process_is_named_and_frees_the_run_when_killed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-m", "regard", "train", "my.yaml", "-o", "run", "--device", "cpu", "-q"]
    more = ["--set", "training.steps=1000000", "--set", "training.checkpoint_every=1"]
    process = subprocess.Popen([*command, *more], env={**os.environ, "OMP_NUM_THREADS": "1"})
    try:
        while not Path("run/state/training.safetensors").exists() and process.poll() is None:
            time.sleep(0.01)
        for arguments in (
            ["my.yaml", "-o", "run"],
            ["my.yaml", "-o", "run", "--overwrite"],
            ["--resume", "run"],
        ):
            assert train(*arguments) == 2
            said = " ".join(capsys.readouterr().err.split())
            assert f"run: this run is being trained by another process (process {process.pid} on" in said
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert train("--resume", "run", "--set", "training.steps=1") == 0


@pytest.mark.thorough
def test_two_processes_overwrite_a_run_together(run: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", port]
    command += ["-m", "regard", "train", "my.yaml", "-o", "run", "--overwrite", "--seed", "5"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(
        [*command, "--device", "cpu", "-q"], env=environment, text=True, capture_output=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert '"seed": 5' in (run / "metrics.json").read_text()
    assert not list(run.glob(".*"))
