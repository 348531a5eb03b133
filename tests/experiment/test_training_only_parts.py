"""A model answers without the parts that only its training needed; a resumption refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment
from regard.metrics import Metric, Score
from regard.parts import registry
from regard.training import Logger
from regard.training.schedules import Schedule

ROWS = [(f"word {n}", "yes" if n % 2 else "no") for n in range(30)]
OWN = (("logger", "test-silent"), ("schedule", "test-half"), ("metric", "test_one"))


def register() -> None:
    @regard.register("logger", "test-silent")
    class Silent(Logger):
        def write(self, values: Mapping[str, float | int]) -> None:
            return

    @regard.register("schedule", "test-half")
    class Half(Schedule):
        def after_warmup(self, step: int) -> float:
            return 0.5 * self.peak

    @regard.register("metric", "test_one")
    class One(Metric):
        def measure(self, inference: Any) -> Score:
            return Score(self.name, 1.0, len(inference))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    register()
    folder = tmp_path_factory.mktemp("runs") / "run"
    try:
        regard.fit(
            ROWS, dev=ROWS[:4], run=folder, device="cpu", quiet=True, encoder={"size": 4},
            metrics=["test_one", "accuracy"],
            training={
                "steps": 2, "metric": "test_one", "loggers": ["test-silent"], "schedule": {"type": "test-half"}
            },
        )  # fmt: skip
    finally:
        for kind, name in OWN:
            registry.PARTS[kind].pop(name)
    return folder


def test_it_answers_without_them_and_says_so(run: Path) -> None:
    with pytest.warns(UserWarning, match="No answer depends on it") as told:
        model = regard.load(run, device="cpu")
    (one,) = told
    for kind, name in OWN:
        assert f"{kind} {name} (a script)" in str(one.message)
    assert model.predict("word 3").text in ("yes", "no")
    assert set(model.evaluate("dev", metrics=["accuracy"]).scores) == {"accuracy"}
    with pytest.raises(RegardError, match="test_one"):
        model.evaluate("dev")


def test_a_resumption_refuses(run: Path) -> None:
    with pytest.raises(RegardError, match=r"uses parts that are not registered here: .*logger test-silent"):
        Experiment.resume(run)


def test_a_part_that_answers_depend_on_is_refused(run: Path, tmp_path: Path) -> None:
    text = (run / "parts.json").read_text().replace('"kind": "logger"', '"kind": "cell"')
    for file in run.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "parts.json").write_text(text)
    with pytest.raises(RegardError, match=r"not registered here: .*cell test-silent"):
        regard.load(tmp_path, device="cpu")
