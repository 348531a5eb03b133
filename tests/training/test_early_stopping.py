"""Early stopping is on where a spec does not say how long to train, and leaves all others as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import regard
from regard.cli.command import COMMAND_LINE
from regard.fitting.announcing import Announcer
from regard.spec import Spec
from regard.spec.sections import TrainingSpec
from regard.training import Result

from .test_loop import LINE, Line, measured
from .tiny import train

WRITTEN = sorted(
    path
    for folder in (Path(regard.__file__).parent / "zoo", Path(__file__).parents[2] / "recipes")
    for path in folder.rglob("*.yaml")
)


def test_no_system_and_no_recipe_is_stopped_by_the_default() -> None:
    assert len(WRITTEN) > 100
    for path in WRITTEN:
        said = yaml.safe_load(path.read_text(encoding="utf-8")).get("training") or {}
        assert TrainingSpec.model_validate(said).waits == said.get("patience"), path


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        ({}, 5),
        ({"epochs": 100}, None),
        ({"steps": 9}, None),
        ({"patience": None}, None),
        ({"epochs": 9, "patience": 2}, 2),
    ],
)
def test_the_rule(said: dict[str, int | None], waits: int | None) -> None:
    assert TrainingSpec.model_validate(said).waits == waits


def test_a_run_without_a_length_stops_when_dev_no_longer_improves(tmp_path: Path) -> None:
    values = [5.0, 4.0, 3.0, 3.5, 3.5, 3.5, 3.5, 3.5, 0.0]
    options = {**LINE, "epochs": None, "evaluate_every": 2}
    result = train(tmp_path, network=Line(), evaluate=measured(values), **options)
    assert (result.stopped_because, result.steps, result.kept) == ("patience", 16, "step 6")


def test_it_says_why_it_stopped_and_how_to_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = Spec(inputs={"a": {"type": "text"}}, outputs={"b": {"type": "label"}})
    result = Result({"loss": 0.5}, "step 6", 16, 1, 3.0, "patience")
    Announcer(spec, tmp_path, front=COMMAND_LINE).end(result)
    told = capsys.readouterr().out
    assert "stopped early: dev loss has not improved for 5 evaluations" in told
    assert "--set training.patience=null" in told
    Announcer(spec, tmp_path).end(Result({"loss": 0.5}, "step 6", 16, 1, 3.0, "epochs"))
    assert "stopped early" not in capsys.readouterr().out
