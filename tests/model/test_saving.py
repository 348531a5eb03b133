"""A saved model: the same bytes for the same weights, written atomically, and never over a user's file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import regard
from regard import RegardError
from regard.model import Model
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

SPEC = {
    "inputs": {"source": {"type": "text", "unit": "char"}},
    "outputs": {"target": {"type": "text", "unit": "char"}},
    "encoder": {"type": "recurrent", "cell": "gru", "size": 8, "embedding": 8},
    "attention": {"score": "additive", "select": "softmax"},
    "decoder": {"type": "recurrent", "cell": "gru", "size": 8, "embedding": 8},
    "data": {"train": "words.tsv"},
}


@pytest.fixture
def model() -> Model:
    spec = Spec.parse(SPEC)
    columns = make_columns(spec)
    rows = [regard.data.Row({"source": "abc", "target": "cba"}, file="words.tsv", line=1)]
    fit_columns(columns, spec, lambda: rows)
    return Model.build(spec, columns)


def test_the_same_weights_are_the_same_bytes(model: Model, tmp_path: Path) -> None:
    written = set()
    for number in range(8):
        model.save(tmp_path / str(number))
        written.add((tmp_path / str(number) / "model.safetensors").read_bytes())
    assert len(written) == 1


def test_a_file_of_the_users_is_not_replaced(model: Model, tmp_path: Path) -> None:
    (tmp_path / "spec.yaml").write_text("mine")
    with pytest.raises(RegardError, match=r"spec\.yaml: this file exists and regard did not write it"):
        model.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["spec.yaml"]
    assert (tmp_path / "spec.yaml").read_text() == "mine"
    model.save(tmp_path / "model")
    model.save(tmp_path / "model")
    (tmp_path / "model" / "manifest.json").unlink()  # as an older version wrote it
    model.save(tmp_path / "model")


def test_a_save_removes_what_a_killed_one_left(model: Model, tmp_path: Path) -> None:
    (tmp_path / ".model.safetensors.0123abcd.regard-tmp").write_text("half")
    (tmp_path / ".model.safetensors.mine").write_text("mine")
    model.save(tmp_path)
    hidden = [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
    assert hidden == [".model.safetensors.mine"]


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="a limit on the size of files stands for a full disk"
)
def test_a_full_disk_names_the_file_and_leaves_the_old_model(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    program = (
        "import resource, sys, regard\n"
        "model = regard.load(sys.argv[1], device='cpu')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "model.save(sys.argv[1])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        text=True,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ended.returncode != 0
    last = ended.stderr.strip().splitlines()[-1]
    assert "model.safetensors: the file could not be written: File too large. Free some space" in last
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    "name", ["columns.json", "spec.yaml", "model.safetensors", "metrics.json", "card.md"]
)
def test_no_file_is_half_written(
    model: Model, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    real = os.fsync

    def full(handle: int) -> None:
        if f".{name}." in os.readlink(f"/proc/self/fd/{handle}"):
            raise OSError(28, "No space left on device")
        real(handle)

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RegardError, match=rf"{name}: the file could not be written: No space left on device"):
        model.save(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
