"""However a global batch is divided, over processes or pieces, training gives the same model."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from .tiny import TinyBatches, TinyNetwork, train

PROGRAM = Path(__file__).with_name("tiny.py")
ROOT = PROGRAM.parents[2]
PENALTY = 0.05
ROWS = 89  # the last batch has one row: the second process is idle
OPTIONS = {"epochs": 3, "optimizer": "sgd", "lr": 0.3, "momentum": 0.9}


def whole_run(run: Path, *, network: torch.nn.Module | None = None, size: int = 8, **options: object) -> None:
    torch.manual_seed(1)
    batches = TinyBatches(rows=ROWS, size=size)
    train(
        run,
        network=network or TinyNetwork(dropout=0.0, penalty=PENALTY),
        batches=batches,
        **{**OPTIONS, **options},
    )


def logged(run: Path, column: str) -> dict[str, float]:
    with (run / "log.csv").open() as file:
        return {row["step"]: float(row[column]) for row in csv.DictReader(file) if row[column]}


def assert_close_runs(one: Path, two: Path) -> None:
    figures = ("loss", "loss.tags", "loss.label", "penalty", "dev.loss", "gradient_norm")
    for column in (*figures, "likelihood.tags", "words.tags"):
        assert logged(one, column) == pytest.approx(logged(two, column), rel=2e-6, abs=2e-6)
    first, second = load_file(one / "model.safetensors"), load_file(two / "model.safetensors")
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=0, atol=2e-6)


def launch(run: Path, options: dict[str, object]) -> list[tuple[int, str]]:
    """Start two processes with `torchrun`'s environment; return exit code and standard error of each."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(PROGRAM), str(run), "--rows", str(ROWS), "--dropout", "0"]
    command += ["--penalty", str(PENALTY), "--options", json.dumps(options)]
    shared = {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    shared |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    processes = [
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank},
            text=True,
            stderr=subprocess.PIPE,
        )
        for rank in "01"
    ]
    try:
        said = [process.communicate(timeout=120)[1] for process in processes]
        return [(process.returncode, err) for process, err in zip(processes, said, strict=True)]
    finally:
        for process in processes:
            process.kill()


@pytest.mark.thorough
def test_two_processes_train_the_model_one_trains(tmp_path: Path) -> None:
    ended = launch(tmp_path / "two", OPTIONS)
    assert [code for code, _ in ended] == [0, 0], ended
    whole_run(tmp_path / "one")
    assert len(logged(tmp_path / "two", "loss")) == 6
    assert_close_runs(tmp_path / "one", tmp_path / "two")
    whole_run(tmp_path / "one", resume=True, epochs=4)
    whole_run(tmp_path / "two", resume=True, epochs=4)  # one process continues the run of two
    assert len(logged(tmp_path / "two", "loss")) == 8
    assert_close_runs(tmp_path / "one", tmp_path / "two")


class NetworkThatCounts(TinyNetwork):
    """Knows its counts without computing a loss; counts forward passes, to reveal unnecessary ones."""

    forwards = 0

    def forward(self, batch):  # type: ignore[no-untyped-def]
        self.forwards += self.training
        return super().forward(batch)

    def counts(self, batch):  # type: ignore[no-untyped-def]
        return {"tags": int(batch["words"].lengths.sum()), "label": len(batch)}


def test_accumulated_pieces_make_the_update_of_the_whole_batch(tmp_path: Path) -> None:
    # 8 rows in pieces of 4: two pieces in the same order are a batch of 8.
    whole_run(tmp_path / "whole")
    whole_run(tmp_path / "pieces", size=4, accumulate=2)
    torch.manual_seed(1)
    counting = NetworkThatCounts(dropout=0.0, penalty=PENALTY)
    whole_run(tmp_path / "counted", network=counting, size=4, accumulate=2)
    assert counting.forwards == 3 * 23
    assert_close_runs(tmp_path / "whole", tmp_path / "pieces")
    assert_close_runs(tmp_path / "whole", tmp_path / "counted")


def test_the_parts_of_a_loss_are_logged_per_item(tmp_path: Path) -> None:
    batches = TinyBatches(rows=8)
    train(tmp_path, network=TinyNetwork(), batches=batches, evaluate=None, epochs=2)
    assert logged(tmp_path, "likelihood.tags") == logged(tmp_path, "loss.tags")
    mean = sum(map(sum, batches.rows)) / sum(map(len, batches.rows))  # every update sees all eight rows
    assert logged(tmp_path, "words.tags") == {"1": pytest.approx(mean), "2": pytest.approx(mean)}


def test_a_penalty_counts_once_for_each_update_and_is_logged(tmp_path: Path) -> None:
    torch.manual_seed(1)
    network = TinyNetwork(dropout=0.0, penalty=PENALTY)
    weight = network.label.weight.detach().clone()
    losses = [loss.weight * loss.mean for loss in network(TinyBatches(rows=8).batch(list(range(8)))).values()]
    train(
        tmp_path / "run",
        network=network,
        batches=TinyBatches(rows=8),
        evaluate=None,
        optimizer="sgd",
        lr=1.0,
        momentum=0.0,
        steps=1,
    )
    expected = PENALTY * float(weight.square().sum())
    assert logged(tmp_path / "run", "penalty") == {"1": pytest.approx(expected, rel=1e-5)}
    assert logged(tmp_path / "run", "loss") == {"1": pytest.approx(sum(losses).item() + expected, rel=1e-5)}
    torch.manual_seed(1)
    free = TinyNetwork(dropout=0.0)
    options = {"optimizer": "sgd", "lr": 1.0, "momentum": 0.0, "steps": 1}
    train(tmp_path / "free", network=free, batches=TinyBatches(rows=8), evaluate=None, **options)
    # One step of rate 1 differs by the gradient of the penalty, 2 · decay · w.
    torch.testing.assert_close(
        free.label.weight - network.label.weight, 2 * PENALTY * weight, atol=1e-6, rtol=1e-4
    )
