"""A start that fails leaves no folder behind, and no weights are lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment

from .small_run import contents, pairs, start, train


def test_a_start_that_fails_leaves_no_folder(project: Path) -> None:
    before = contents(project)
    with pytest.raises(RegardError):
        Experiment.start("my.yaml", run=Path("new/run"), overrides=["data.train=nowhere.tsv"])
    assert contents(project) == before and not Path("new").exists()


def test_a_training_that_fails_before_its_first_checkpoint_leaves_no_folder(project: Path) -> None:
    before = contents(project)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.objective.Updater.__call__", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Experiment.start("my.yaml", run=Path("new/run"), device="cpu", quiet=True).train()
        assert contents(project) == before and not Path("new").exists()
        with pytest.raises(ZeroDivisionError):
            regard.fit(pairs(40), run=project / "run", device="cpu", quiet=True)
        assert contents(project) == before and not Path("run").exists()
        Path("run").mkdir()  # the user's folder stays, with the files in it
        Path("run/.mine").write_text("mine")
        with pytest.raises(ZeroDivisionError):
            start().train()
    assert contents(Path("run")) == {".mine": b"mine"}
    assert train("my.yaml", "-o", "run") == 0


def test_a_training_that_fails_keeps_the_weights_that_it_has_saved(project: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.training.state.TrainingState.save", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            start().train()
    regard.load("run", device="cpu")


@pytest.mark.parametrize("again", [False, True])
def test_a_run_whose_folder_is_moved_stops_instead_of_making_a_second_half(
    tmp_path: Path, again: bool
) -> None:
    """again: a folder with the same name takes its place."""

    class Mover:
        def on_evaluation(self, figures: dict[str, Any]) -> None:
            (tmp_path / "run").rename(tmp_path / "moved")
            if again:
                (tmp_path / "run").mkdir()

    told = ["training.evaluate_every=2", "training.steps=8"]
    with pytest.raises(RegardError, match="moved, replaced or deleted"):
        regard.fit(
            pairs(40), run=tmp_path / "run", overrides=told, device="cpu", quiet=True, callbacks=[Mover()]
        )
    assert [*tmp_path.glob("run/*")] == [] and (tmp_path / "moved" / "spec.yaml").is_file()


def test_a_device_that_does_not_exist_is_refused_before_the_data_are_read(project: Path) -> None:
    before = contents(project)
    Path("words.tsv").write_text("nothing to read")
    with pytest.raises(RegardError, match="device: 'cuda:77' cannot be used"):
        Experiment.start("my.yaml", run=Path("new/run"), device="cuda:77", quiet=True)
    Path("words.tsv").write_bytes(before["words.tsv"])
    assert contents(project) == before and not Path("new").exists()
