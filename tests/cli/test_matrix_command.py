"""`regard matrix`: lists tasks and rows, shows finished rows without training, explains errors."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from regard.course.matrix import MechanismMatrix

Run = Callable[..., tuple[int, str, str]]

TINY = (
    "data.world.train=40", "data.world.dev=8", "data.world.test=12", "encoder.size=8", "encoder.embedding=8",
    "decoder.size=16", "decoder.embedding=8", "training.batch_tokens=200", "search.max_length=6",
)  # fmt: skip


def test_tasks_and_rows_are_listed(regard: Run) -> None:
    code, out, _ = regard("matrix")
    assert code == 0 and sum(line.rstrip().endswith(" rows") for line in out.splitlines()) == 9
    code, out, _ = regard("matrix", "captions", "--list")
    assert code == 0 and "additive" in out
    line = next(line for line in out.splitlines() if line.startswith("segments"))
    assert "not here: a segment covers neighbors on a line" in line


def test_the_table_of_finished_rows(regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = [part for setting in TINY for part in ("--set", setting)]
    command = ["matrix", "translation", "--updates", "2", "--runs", "kept", *settings]
    code, out, err = regard(*command, "--only", "start", "dot", "-o", "matrix.html")
    assert code == 0 and "start" in out and "dot" in out and "dot (2 of 2)" in err
    assert '<th scope="row">dot' in (tmp_path / "matrix.html").read_text(encoding="utf-8")
    code, out, err = regard(*command, "--only", "start", "--json", "-")
    assert code == 0 and [row["mechanism"] for row in json.loads(out)["rows"]] == ["start", "dot"]
    finished = MechanismMatrix(
        "translation",
        folder=tmp_path / "kept",
        settings=TINY,
        only=("dot",),
        console=Console(file=io.StringIO()),
    )
    assert finished.run().updates == 2  # the budget stored in the folder


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["caption"], "Did you mean captions?"),
        (["captions", "--only", "local"], "captions cannot have local: a window covers neighbors on a line"),
        (["-o", "matrix.html"], "there is no table to write"),
        (["translation", "--list", "--json", "-"], "there is no table to write"),
        (["translation", "-o", "matrix.txt"], "supported are .html, .md, .json, .csv"),
        (["translation", "-o", "no/such/matrix.html"], "the folder to write to does not exist"),
        (["translation", "--set", "decoder.sise=3"], "sise"),
        (
            ["translation", "dot", "--updates", "2", "--seed", "-1"],
            "expected greater than or equal to 0, received -1",
        ),
    ],
)
def test_mistakes(
    regard: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = regard("matrix", *arguments)
    assert code == 2 and told in err and not list(tmp_path.iterdir())
