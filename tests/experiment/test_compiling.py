"""On a machine without kernels the first updates are computed in plain code, with the same numbers to rounding."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from regard.fitting import compiling
from regard.fitting.experiment import Experiment
from regard.structures.kernels.availability import within_reach

CHANGES = [f"{part}.{key}=8" for part in ("encoder", "decoder") for key in ("size", "embedding")]
CHANGES += [
    "data.world={type: reverse, train: 64, dev: 4, test: 4}",
    "training.batch_rows=4",
    "training.steps=30",
]


class Compiler:
    """A process that compiles until it was asked this many times."""

    ended = False

    def __init__(self, asked: int) -> None:
        self.asked = asked

    def poll(self) -> int | None:
        self.asked -= 1
        return None if self.asked >= 0 and not self.ended else 0

    def terminate(self) -> None:
        self.ended = True

    def wait(self) -> None:
        assert self.ended


def started(run: Path) -> Experiment:
    return Experiment.start("reverse", run=run, overrides=CHANGES, device="cpu", quiet=True)


def losses(run: Path) -> list[float]:
    with (run / "log.csv").open(encoding="utf-8") as file:
        return [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]


def test_plain_updates_come_first_and_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started(tmp_path / "compiled").train()
    monkeypatch.setattr(compiling, "_is_fresh", lambda experiment: True)
    for name, asked, plain in (("early", 1, 20), ("never", 99, 30)):
        compiler, served = Compiler(asked), []
        monkeypatch.setattr(compiling.subprocess, "Popen", lambda *_, compiler=compiler, **more: compiler)
        experiment = started(tmp_path / name)

        def seen(self: Any, figures: dict[str, Any], served: list[bool] = served) -> None:
            weight = next(experiment.model.network.parameters())  # noqa: B023
            served.append(within_reach(weight.detach(), rows=99))

        watching = type("Watching", (compiling.Callback,), {"on_step": seen})
        experiment.callbacks = (watching(),)
        compiling.train_meanwhile(experiment)
        about = json.loads((tmp_path / name / "metrics.json").read_text(encoding="utf-8"))
        assert about["training"]["plain_updates"] == plain
        assert not served[0] and served[-1] == (name == "early")
        assert losses(tmp_path / name) == pytest.approx(losses(tmp_path / "compiled"), rel=1e-3)
        assert within_reach(next(experiment.model.network.parameters()).detach(), rows=99)


def test_a_resumed_run_and_the_variable_compile_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        compiling.subprocess, "Popen", lambda *_, **more: pytest.fail("a process was started")
    )
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "empty"))
    experiment = started(tmp_path / "run")
    monkeypatch.setenv("REGARD_COMPILE", "first")
    compiling.train_meanwhile(experiment)
    about = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert "plain_updates" not in about["training"]
    monkeypatch.delenv("REGARD_COMPILE")
    more = Experiment.resume(tmp_path / "run", overrides=["training.steps=31"], device="cpu", quiet=True)
    compiling.train_meanwhile(more)


def test_the_other_process_computes_an_update_and_predictions(tmp_path: Path) -> None:
    experiment = started(tmp_path / "run")
    experiment.close()
    compiling.write_spec(tmp_path, experiment.spec)
    compiling.compile_for(tmp_path)
    assert not (tmp_path / "run" / "log.csv").exists()
