"""Programs from the command line: training, scores by level and position, prediction, refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]


SMALL = [
    "encoder={type: recurrent, cell: gru, size: 8, embedding: 4, bidirectional: true}",
    "decoder={type: recurrent, cell: gru, size: 8, embedding: 4, condition: [start, attention]}",
    "data.world={type: programs, length: 2, nesting: 2, train: 64, dev: 8, test: 8, levels: 40}",
    "training={epochs: 2, batch_rows: 32, curriculum: naive}",
    "search.max_length=6",
    "inputs.program={type: text, unit: char, max_length: 110, repeat: 2}",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from regard.fitting.experiment import Experiment

    run = tmp_path_factory.mktemp("programs") / "run"
    Experiment.start("execute", run=run, overrides=SMALL, device="cpu", quiet=True).train()
    return run


def test_evaluate_by_level_and_by_place(regard: Run, trained: Path, tmp_path: Path) -> None:
    figures, drawn = tmp_path / "by.json", tmp_path / "levels.svg"
    code, out, err = regard(
        "evaluate", str(trained), "--split", "levels", "--metric", "exact", "--by", "length,nesting",
        "--plot", str(drawn), "--json", str(figures), "--device", "cpu",
    )  # fmt: skip
    assert code == 0, err
    (model,) = json.loads(figures.read_text())["models"].values()
    assert model["by"]["names"] == ["length", "nesting"]
    assert [cell[:3] for cell in model["by"]["cells"]] == [[a, b, 10] for a in "12" for b in "12"]
    assert (
        "by length and nesting" in " ".join(out.split())
        and "exact by length and nesting" in drawn.read_text()
    )
    code, out, err = regard("evaluate", str(trained), "--metric", "exact", "--by", "place", "--device", "cpu")
    assert code == 0 and "by place" in " ".join(out.split()) and "−1" in out, err


def test_an_unknown_column_is_refused_with_the_nearest(regard: Run, trained: Path) -> None:
    code, _, err = regard(
        "evaluate", str(trained), "--metric", "exact", "--by", "nestling", "--device", "cpu"
    )
    assert code == 2 and "no column 'nestling'" in err and "nesting?" in err


def test_a_program_over_the_limit_is_refused_with_its_length(regard: Run, trained: Path) -> None:
    program = f"print({'+'.join(['12'] * 40)})."
    code, _, err = regard("predict", str(trained), program, "--device", "cpu")
    assert code == 2 and f"has {len(program)} tokens, more than max_length 110" in err
