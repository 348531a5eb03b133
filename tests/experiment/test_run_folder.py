"""No user file is lost: a run replaces and removes only the files that regard wrote."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.cli import main
from regard.experiment import Experiment
from regard.training import Interrupted

SPEC = """
name: small
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
training:  {steps: 2, batch_rows: 8, evaluate_every: 2}
search:    {max_length: 4}
data:      {train: words.tsv, dev: dev.tsv}
"""


def pairs(count: int) -> list[tuple[str, str]]:
    words = [f"{number:b}".replace("1", "a").replace("0", "b") for number in range(1, count + 1)]
    return [(word, word[::-1]) for word in words]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with data and a spec."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name, count in (("words", 40), ("dev", 6)):
        lines = (f"{left}\t{right}\n" for left, right in pairs(count))
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    (folder / "my.yaml").write_text(SPEC, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A finished run, to be copied."""
    folder, before = tmp_path_factory.mktemp("finished"), Path.cwd()
    os.chdir(folder)
    try:
        Path("my.yaml").write_text(SPEC, encoding="utf-8")
        for name in ("words", "dev"):
            Path(f"{name}.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in pairs(40)), encoding="utf-8")
        Experiment.start("my.yaml", run=Path("run"), device="cpu", quiet=True).train()
    finally:
        os.chdir(before)
    yield folder / "run"


@pytest.fixture
def run(project: Path, finished: Path) -> Path:
    shutil.copytree(finished, project / "run")
    return Path("run")


def train(*arguments: str) -> int:
    """`regard train` in this process; its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["regard", "train", *arguments, "--device", "cpu", "-q"])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
    return 0


def start(what: str = "my.yaml", **options: object) -> Experiment:
    return Experiment.start(what, run=Path("run"), device="cpu", quiet=True, **options)  # type: ignore[arg-type]


# overwriting


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
    with pytest.raises(RegardError, match=r"other files and no run: .*another folder with run="):
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
        patch.setattr("regard.experiment.write_columns", lambda *_: 1 / 0)
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
        patch.setattr("regard.experiment.fit_network", lambda *_, **__: 1 / 0)
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
    assert after.keys() == before.keys()
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


# resuming


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


# locking


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


def test_a_device_that_does_not_exist_is_refused_before_the_data_are_read(project: Path) -> None:
    before = contents(project)
    Path("words.tsv").write_text("nothing to read")
    with pytest.raises(RegardError, match="device: 'cuda:77' cannot be used"):
        Experiment.start("my.yaml", run=Path("new/run"), device="cuda:77", quiet=True)
    Path("words.tsv").write_bytes(before["words.tsv"])
    assert contents(project) == before and not Path("new").exists()


# files


def test_the_umask_decides_who_may_read_a_run(project: Path) -> None:
    before = os.umask(0o027)
    try:
        start().train()
    finally:
        os.umask(before)
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in Path("run").rglob("*") if path.is_file()
    }
    assert set(modes.values()) == {0o640}, modes


def test_every_file_of_a_run_is_its_own(run: Path) -> None:
    from regard import manifest

    listed = manifest.read(run)
    assert {name for name in contents(run) if not listed.owns(name)} == {"manifest.json"}


def test_leftovers_of_killed_writes_go_and_files_of_others_stay(run: Path) -> None:
    leftovers = [
        run / ".model.safetensors.0123abcd.regard-tmp",
        run / "state" / ".training.safetensors.0123abcd.regard-tmp",
        run / "state" / "kept" / ".step-00000002.safetensors.0123abcd.regard-tmp",
    ]
    others = [run / ".model.safetensors.0123abcd", run / "mine.regard-tmp", run / ".tmp12ab"]
    for path in (*leftovers, *others):
        path.write_text("half")
    Experiment.resume(run, device="cpu", quiet=True).train()
    assert not any(path.exists() for path in leftovers)
    assert all(path.exists() for path in others)


def test_home_is_understood(
    project: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert train("my.yaml", "--output=~/run") == 0
    regard.load("~/run", device="cpu").save("~/model")
    Experiment.resume(Path("~/run"), device="cpu", quiet=True).close()
    settings = ["training.steps=1", "encoder.size=4", "decoder.size=4"]
    regard.fit(pairs(40), run="~/fitted", overrides=settings, device="cpu", quiet=True)
    assert {path.name for path in (tmp_path / "home").iterdir()} == {"run", "model", "fitted"}
    assert not (project / "~").exists()


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
