"""A sweep in one process: its trials, its best, its folder and its page."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from statistics import mean
from typing import Any

import optuna
import pytest
from typer.testing import CliRunner

import regard
from regard import RegardError
from regard.cli.main import app
from tests.sweep.small import small_task

VARY = {"encoder.size": "4..8", "training.lr": "1e-3..1e-1:log"}


def dev(run: Path) -> Any:
    return json.loads((run / "metrics.json").read_text())["scores"]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Three trials of two seeds each."""
    spec = small_task(tmp_path_factory.mktemp("swept"), epochs=1)
    spec.write_text(
        spec.read_text() + "sweep: {vary: {encoder.size: 4..8, training.lr: 1e-3..1e-1:log}, trials: 3}\n"
    )
    found = regard.sweep(spec, seeds=2, output=spec.parent / "out", quiet=True)
    return spec, found


def test_a_value_is_the_mean_over_seeds(swept: Any) -> None:
    _, found = swept
    assert [one.number for one in found.trials] == [0, 1, 2]
    for one in found.trials:
        scores = [dev(one.folder / f"seed-{seed}")["dev"]["loss"]["value"] for seed in (1, 2)]
        assert one.value == pytest.approx(mean(scores), rel=1e-12)
        assert list(one.seeds.values()) == scores
    assert found.best.value == min(one.value for one in found.trials)


def test_test_is_looked_at_for_the_best_alone(swept: Any) -> None:
    _, found = swept
    assert found.looks == 1
    assert set(found.test) == {1, 2}
    for one in found.trials:  # no run has seen test
        assert list(dev(one.folder / "seed-1")) == ["dev"]


def test_the_command_of_the_best_gives_its_scores(swept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, found = swept
    monkeypatch.chdir(spec.parent)
    for seed, command in ((1, found.best.command), (2, found.best.command.replace("--seed 1", "--seed 2"))):
        words = [*shlex.split(command)[1:], "-o", f"alone-{seed}", "--no-report", "--quiet"]
        assert CliRunner().invoke(app, words).exit_code == 0
        alone = dev(Path(f"alone-{seed}"))
        assert alone["dev"]["loss"]["value"] == found.best.seeds[seed]
        assert {name: one["value"] for name, one in alone["test"].items()} == found.test[seed]
    best = regard.Spec.load(spec.parent / "out/best.yaml")
    assert best == regard.Spec.load(Path("alone-1") / "spec.yaml", ["sweep={}"])


def test_the_page_is_complete_in_one_file(swept: Any) -> None:
    _, found = swept
    text = found.page.read_text()
    assert found.best.command in text
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)
    for heading in ("Best setting", "What the trials show", "Each setting", "Trials", "How it was searched"):
        assert f">{heading}</h2>" in text
    assert text.count("<tr>") >= 3


def test_the_same_call_trains_nothing_again(swept: Any) -> None:
    spec, found = swept
    before = {path: path.stat().st_mtime_ns for path in (spec.parent / "out").rglob("metrics.json")}
    again = regard.sweep(spec, seeds=2, output=spec.parent / "out", quiet=True)
    assert again.trials == found.trials
    assert again.looks == 1
    assert before == {path: path.stat().st_mtime_ns for path in (spec.parent / "out").rglob("metrics.json")}


def test_another_search_does_not_join(swept: Any) -> None:
    spec, _ = swept
    with pytest.raises(RegardError, match="searches other settings"):
        regard.sweep(spec, seeds=3, output=spec.parent / "out", quiet=True)


def test_what_somebody_changed_is_kept(swept: Any) -> None:
    spec, _ = swept
    best = spec.parent / "out/best.yaml"
    before = best.read_text()
    best.write_text("# mine\n")
    again = regard.sweep(spec, seeds=2, output=spec.parent / "out", quiet=True)
    assert best.read_text() == "# mine\n"
    assert again.best_spec == best.with_name("best-2.yaml")
    assert again.best_spec.read_text() == before


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    spec = small_task(tmp_path / "task")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    with pytest.raises(RegardError, match=r"mine\.txt"):
        regard.sweep(spec, vary=VARY, output=tmp_path / "out", quiet=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_setting_that_is_refused_fails_alone(tmp_path: Path) -> None:
    """A transformer needs a size that its heads divide."""
    spec = small_task(tmp_path, epochs=1)
    text = spec.read_text().replace(
        "type: recurrent, cell: gru, size: 8, embedding: 4", "type: transformer, layers: 1"
    )
    spec.write_text(text.replace("epochs: 1", "steps: 1"))
    vary = {"encoder.size": [4, 6], "encoder.heads": [2, 4]}
    found = regard.sweep(spec, vary=vary, sampler="grid", output=tmp_path / "out", quiet=True)
    states = {(one.values["encoder.size"], one.values["encoder.heads"]): one.state for one in found.trials}
    assert states == {("4", "2"): "done", ("4", "4"): "done", ("6", "2"): "done", ("6", "4"): "failed"}
    failed = next(one for one in found.trials if one.state == "failed")
    assert "heads" in failed.reason
    assert "heads" in found.page.read_text()


def test_an_interrupted_trial_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.sweep import training

    spec = small_task(tmp_path, epochs=3)
    whole = regard.sweep(spec, vary=VARY, trials=1, output=tmp_path / "whole", quiet=True)
    calls = []

    class Interrupting(training.Reporter):
        def on_evaluation(self, figures: dict[str, Any]) -> None:
            super().on_evaluation(figures)
            calls.append(figures["step"])
            if len(calls) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(training, "Reporter", Interrupting)
    with pytest.raises(KeyboardInterrupt):
        regard.sweep(spec, vary=VARY, trials=1, output=tmp_path / "out", quiet=True)
    found = regard.sweep(spec, vary=VARY, trials=1, output=tmp_path / "out", quiet=True)
    assert [one.value for one in found.trials] == [one.value for one in whole.trials]
    assert calls == [6, 12, 12, 18]  # resumed from the first epoch's checkpoint


def test_a_pruned_trial_ends_early(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.sweep import study

    class AfterTheFirst(optuna.pruners.BasePruner):
        def prune(self, study: Any, trial: Any) -> bool:
            return trial.number > 0 and max(trial.intermediate_values) >= 2

    monkeypatch.setattr(study, "make_pruner", lambda name: AfterTheFirst())
    spec = small_task(tmp_path, epochs=3)
    found = regard.sweep(spec, vary=VARY, trials=2, pruner="median", output=tmp_path / "out", quiet=True)
    assert [one.state for one in found.trials] == ["done", "pruned"]
    log = (found.trials[1].folder / "seed-1/log.csv").read_text().splitlines()
    assert int(log[-1].split(",")[0]) == 12  # two of three epochs of six batches
    kept = optuna.load_study(study_name="out", storage=f"sqlite:///{tmp_path / 'out/study.db'}").trials
    assert list(kept[0].intermediate_values) == [1, 2, 3]


def test_the_command_explains_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = small_task(tmp_path)
    result = CliRunner().invoke(app, ["sweep", str(spec), "--vary", "encoder.sise=4..8"])
    assert isinstance(result.exception, RegardError)
    assert "--vary" in result.exception.said(regard.cli.command.COMMAND_LINE)
    with pytest.raises(RegardError, match="no address of a database"):
        regard.sweep(spec, vary=VARY, storage="postgres at home", output=tmp_path / "out", quiet=True)
