"""A run replaces and removes only the files that regard wrote."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.fitting.experiment import Experiment

from .small_run import contents, pairs, start, train


def test_the_spec_being_trained_is_not_replaced_by_the_run(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "my.yaml").rename(project / "spec.yaml")
    before = contents(project)
    for options in ([], ["--overwrite"]):
        assert train("spec.yaml", "-o", ".", *options) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "spec.yaml: this file exists and regard did not write it. Choose another folder" in said
    assert contents(project) == before


@pytest.mark.parametrize("name", ["log.csv", "state/training.safetensors", "manifest.json"])
def test_a_file_of_the_users_is_never_replaced(project: Path, name: str) -> None:
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("{}")
    before = contents(project)
    with pytest.raises(RegardError, match=rf"{name}: this file exists and regard did not write it"):
        Experiment.start("my.yaml", run=Path("."), overwrite=True)
    assert contents(project) == before


def test_a_folder_of_other_files_is_refused(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(project)
    for options in ([], ["--overwrite"]):
        assert train("my.yaml", "-o", ".", *options) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert ".: this folder contains other files and no run: dev.tsv, my.yaml, words.tsv." in said
        assert said.endswith("a new or empty one: run")
    with pytest.raises(RegardError, match=r"other files and no run: .*another folder with `run=…`"):
        regard.fit(pairs(40), run=project)
    assert contents(project) == before


def test_a_folder_is_empty_whatever_the_system_hides_in_it(project: Path) -> None:
    (project / "run").mkdir()
    (project / "run" / ".DS_Store").write_bytes(b"mine")
    assert train("my.yaml", "-o", "run") == 0
    assert (project / "run" / ".DS_Store").read_bytes() == b"mine"


def test_a_start_that_was_killed_before_its_first_file_is_repeated(project: Path) -> None:
    """The list of files is written first, so a folder with nothing else belongs to regard."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.fitting.experiment.write_columns", lambda *_: 1 / 0)
        patch.setattr(Experiment, "close", lambda _: None)  # a killed process does not clean up
        with pytest.raises(ZeroDivisionError):
            start().train()
    gc.collect()
    assert "manifest.json" in contents(project / "run").keys() <= {"manifest.json", ".regard.lock"}
    assert train("my.yaml", "-o", "run") == 0


def test_a_start_that_was_killed_before_its_first_checkpoint_is_not_said_to_be_resumable(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("regard.fitting.experiment.fit_network", lambda *_, **__: 1 / 0)
        patch.setattr(Experiment, "close", lambda _: None)
        with pytest.raises(ZeroDivisionError):
            start().train()
    gc.collect()
    assert train("my.yaml", "-o", "run") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert said.endswith("Pass `--overwrite`, or choose another folder with `-o`.")
    before = contents(project)
    assert train("--resume", "run") == 2
    assert " ".join(capsys.readouterr().err.split()).endswith("Train it anew with `--overwrite`.")
    assert contents(project) == before
    assert train("my.yaml", "-o", "run", "--overwrite") == 0


def test_overwriting_keeps_the_users_files(run: Path) -> None:
    mine = {"notes.txt": b"mine", "state/mine.txt": b"mine", "state/kept/step-mine.safetensors": b"mine"}
    for name, content in mine.items():
        (run / name).write_bytes(content)
    listed = json.loads((run / "manifest.json").read_text())["files"]
    assert {"spec.yaml", "model.safetensors", "log.csv", "state/training.safetensors"} <= set(listed)
    before = contents(run)
    assert train("my.yaml", "-o", "run", "--overwrite", "--seed", "5") == 0
    after = contents(run)
    assert after.keys() == before.keys() | {"report.html"}
    assert {name: after[name] for name in mine} == mine
    assert after["model.safetensors"] != before["model.safetensors"]


def test_a_run_from_before_there_were_manifests_is_overwritten_by_its_known_names(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "manifest.json").unlink()
    (run / "mine.txt").write_text("mine")
    (run / "pairs.jsonl").write_text("mine")
    old = (run / "model.safetensors").read_bytes()
    assert train("my.yaml", "-o", "run") == 2
    assert "already contains a run. Pass `--overwrite`" in " ".join(capsys.readouterr().err.split())
    assert train("my.yaml", "-o", "run", "--overwrite", "--seed", "5") == 0
    assert (run / "mine.txt").read_text() == (run / "pairs.jsonl").read_text() == "mine"
    assert (run / "model.safetensors").read_bytes() != old


def test_a_manifest_from_elsewhere_names_no_files_outside(run: Path) -> None:
    Path("precious.txt").write_text("mine")
    (run / "letter.txt").write_text("mine")
    listed = json.loads((run / "manifest.json").read_text())
    outside = [
        "../precious.txt",
        "letter.txt",
        "rejected-/../../precious.txt",
        str(Path("precious.txt").resolve()),
    ]
    listed["files"] += outside
    (run / "manifest.json").write_text(json.dumps(listed))
    start(overwrite=True).train()
    assert Path("precious.txt").read_text() == (run / "letter.txt").read_text() == "mine"


@pytest.mark.parametrize("broken", ["data", "spec", "metric", "training"])
def test_the_old_model_stays_until_the_new_one_has_a_checkpoint(
    run: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(run)
    changes = {
        "data": ["data.train=nowhere.tsv"],
        "spec": ["encoder.size=none"],
        "metric": ["training.metric=nonsense"],
        "training": [],
    }[broken]
    if broken == "training":
        monkeypatch.setattr("regard.training.objective.Updater.__call__", lambda *_: 1 / 0)
    with pytest.raises((RegardError, ZeroDivisionError)):
        start(overwrite=True, overrides=changes).train()
    assert contents(run) == before
    assert not (run / ".regard-next").exists()
    regard.load(run, device="cpu")


def test_bad_rows_of_the_new_data_leave_the_old_run(run: Path) -> None:
    before = contents(run)
    with Path("words.tsv").open("a") as file:
        file.write("lonely\n")
    with pytest.raises(RegardError, match=r"words\.tsv:41"):
        start(overwrite=True).train()
    assert contents(run) == before


def test_pairs_given_in_python_replace_older_ones_with_the_run(project: Path) -> None:
    settings = ["training.steps=1", "encoder.size=4", "decoder.size=4"]

    def fit(count: int, *more: str) -> None:
        regard.fit(
            pairs(count),
            run=project / "run",
            overrides=[*settings, *more],
            overwrite=True,
            device="cpu",
            quiet=True,
        )

    fit(40)
    before = contents(project / "run")
    with pytest.raises(RegardError):
        fit(50, "training.metric=nonsense")
    assert contents(project / "run") == before
    fit(50)
    files = list((project / "run").glob("pairs*"))
    assert len(files) == 1 and len(files[0].read_text().splitlines()) == 50
    fit(50, "training.seed=2")  # the same pairs: the file stays
    assert list((project / "run").glob("pairs*")) == files
    Experiment.resume(project / "run", device="cpu", quiet=True).close()


@pytest.mark.parametrize("moment", range(12))
def test_a_kill_while_the_new_run_moves_in_is_completed(run: Path, moment: int) -> None:
    """Killed at any rename after the first checkpoint, the new run is complete once it is resumed."""
    renames, real = [0], os.replace

    def die(source: Path, target: Path) -> None:
        if renames[0] or Path(target) == run / "manifest.json":
            renames[0] += 1
            if renames[0] > moment:
                raise KeyboardInterrupt
        real(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.replace", die)
        patch.setattr(Experiment, "close", lambda _: None)  # a killed process does not clean up
        with pytest.raises(KeyboardInterrupt):
            start(overwrite=True, overrides=["training.seed=7"]).train()
    gc.collect()
    try:
        regard.load(run, device="cpu")
    except RegardError as error:
        assert "replacing this model by a new one" in str(error)
    resumed = Experiment.resume(run, device="cpu", quiet=True)
    assert resumed.spec.training.seed == 7
    resumed.train()
    assert not (run / ".regard-next").exists()
    assert '"seed": 7' in (run / "metrics.json").read_text()
    regard.load(run, device="cpu")


def test_a_failed_move_is_completed_later(run: Path) -> None:
    def full(source: Path, target: Path) -> None:
        if Path(target) == run / "columns.json":
            raise OSError(28, "No space left on device")
        real(source, target)

    real = os.replace
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.replace", full)
        with pytest.raises(RegardError, match=r"columns\.json: the file could not be written: No space left"):
            start(overwrite=True, overrides=["training.seed=7"]).train()
    resumed = Experiment.resume(run, device="cpu", quiet=True)
    assert resumed.spec.training.seed == 7
    resumed.train()
