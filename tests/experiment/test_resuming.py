"""A resumed run stays in its folder and keeps the files of its user."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from regard.fitting.experiment import Experiment
from regard.training import Interrupted

from .small_run import contents, start, train


def test_a_finished_run_without_its_state_is_not_trained_again(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(run / "state")
    before = contents(run)
    assert train("--resume", "run") == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "run: this run cannot be resumed: state/training.safetensors is missing." in said
    assert "--overwrite" in said
    assert contents(run) == before


@pytest.mark.parametrize("option", [["-o", "other"], ["--overwrite"]])
def test_a_resumed_run_stays_in_its_folder(
    run: Path, option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(run)
    assert train("--resume", "run", *option) == 2
    assert "continues in its own folder" in " ".join(capsys.readouterr().err.split())
    assert contents(run) == before and not Path("other").exists()


def test_resuming_removes_nothing_through_a_link(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("photos").mkdir()
    Path("photos/step-00000001.safetensors").write_text("mine")
    shutil.rmtree(run / "state" / "kept")
    (run / "state" / "kept").symlink_to(Path("photos").resolve())
    for arguments in (
        ["--resume", "run", "--set", "training.steps=4"],
        ["my.yaml", "-o", "run", "--overwrite"],
    ):
        assert train(*arguments) == 2
        assert "kept: this is a symbolic link" in " ".join(capsys.readouterr().err.split())
    assert Path("photos/step-00000001.safetensors").read_text() == "mine"


def test_resuming_keeps_the_users_files_beside_the_snapshots(run: Path) -> None:
    mine = run / "state" / "kept" / "notes.txt"
    mine.write_text("mine")
    Experiment.resume(run, overrides=["training.steps=4"], device="cpu", quiet=True).train()
    assert mine.read_text() == "mine"


def test_an_interrupted_overwrite_can_be_resumed(run: Path) -> None:
    """A signal writes a checkpoint first, so the new run has already taken the place of the old one."""
    new = start(overwrite=True, overrides=["training.seed=9", "training.steps=50"])
    batches = iter(range(100))
    original = type(new)._monitor

    def stop(self: Experiment, *arguments: object) -> dict[str, float]:
        if next(batches) == 1:
            signal.raise_signal(signal.SIGTERM)
        return original(self, *arguments)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Experiment, "_monitor", stop)
        with pytest.raises(Interrupted):
            new.train()
    assert not (run / ".regard-next").exists()
    Experiment.resume(run, overrides=["training.steps=8"], device="cpu", quiet=True).train()
    assert '"seed": 9' in (run / "metrics.json").read_text()
