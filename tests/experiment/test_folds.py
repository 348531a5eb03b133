"""Folds: the cut of the rows, the runs, and the mean of their scores."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from scipy import stats

import regard
from regard.data.sources import open_splits
from regard.errors import RegardError
from regard.metrics.mean_interval import mean_interval
from regard.spec import Spec

TINY = {"encoder": {"size": 4}, "training": {"steps": 3, "batch_rows": 16}}


def rows_of(folder: Path, count: int = 60) -> Path:
    """Rows with labels in the ratio 2 : 1, two of each input, and five of each document."""
    path = folder / "rows.tsv"
    lines = [f"word{n // 2} w{n % 7}\t{'a' if n // 2 % 3 else 'b'}\td{n // 5}" for n in range(count)]
    path.write_text("text\tlabel\tdocument\n" + "".join(f"{line}\n" for line in lines))
    return path


def cut(path: Path, number: int, of: int, **data: object) -> dict[str, list[dict[str, str]]]:
    spec = Spec(
        inputs={"text": {"type": "text"}},
        outputs={"label": {"type": "label"}},
        data={"train": str(path), "fold": f"{number}/{of}", **data},
    )
    return {split: list(rows) for split, rows in open_splits(spec).items()}


def test_every_row_is_in_one_test_part_and_labels_are_spread_evenly(tmp_path: Path) -> None:
    path = rows_of(tmp_path)
    parts = [cut(path, number, 5) for number in range(1, 6)]
    tested = [row["text"] for part in parts for row in part["test"]]
    every = [line.split("\t")[0] for line in path.read_text().splitlines()[1:]]
    assert sorted(tested) == sorted(every)
    for part in parts:
        sides = [{row["text"] for row in part[split]} for split in ("train", "dev", "test")]
        assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
        assert sum(len(part[split]) for split in part) == 60
        assert Counter(row["label"] for row in part["test"]) == {"a": 8, "b": 4}
    assert parts[0] == cut(path, 1, 5)
    assert parts[0]["test"] != cut(path, 1, 5, fold={"number": 1, "of": 5, "seed": 2})["test"]


def test_rows_of_a_group_stay_together(tmp_path: Path) -> None:
    path = rows_of(tmp_path)
    for number in (1, 2, 3):
        part = cut(path, number, 3, group="document")
        groups = [{row["document"] for row in part[split]} for split in ("train", "dev", "test")]
        assert len(groups[2]) == 4 and len(part["test"]) == 20
        assert sum(map(len, groups)) == len(set().union(*groups)) == 12


def test_too_few_rows_and_a_missing_fold_are_refused(tmp_path: Path) -> None:
    path = rows_of(tmp_path, 6)
    with pytest.raises(RegardError, match="too few for 9 folds"):
        cut(path, 1, 9)
    with pytest.raises(RegardError, match="none has the number 4"):
        cut(path, 4, 3)
    with pytest.raises(RegardError, match="at least 2 folds"):
        regard.cross_validate(
            rows_of(tmp_path), folds=1, source="text", target="label", run=tmp_path / "run", quiet=True
        )


def test_the_interval_is_that_of_student() -> None:
    for values in ([0.9, 0.8], [0.91, 0.88, 0.93], [1.0, 2.0, 4.0, 8.0, 7.0], list(range(11))):
        found = mean_interval(values)
        mean, spread = stats.tmean(values), stats.sem(values)
        low, high = stats.t.interval(0.95, len(values) - 1, mean, spread)
        assert (found.value, found.low, found.high) == pytest.approx((mean, low, high), rel=1e-9)


def test_folds_go_on_where_they_were_interrupted(tmp_path: Path) -> None:
    path, run = rows_of(tmp_path), tmp_path / "run"
    found = regard.cross_validate(path, folds=2, source="text", target="label", run=run, quiet=True, **TINY)
    assert [one.rows["test"] for one in found.folds] == [30, 30]
    told = json.loads((run / "folds.json").read_text())
    values = [one["scores"]["accuracy"] for one in told["folds"]]
    assert told["scores"]["accuracy"]["mean"] == pytest.approx(sum(values) / 2)

    weights = [(one.run / "model.safetensors").read_bytes() for one in found.folds]
    kept = (found.folds[0].run / "model.safetensors").stat().st_mtime_ns
    metrics = found.folds[1].run / "metrics.json"
    metrics.write_text(json.dumps({"data": json.loads(metrics.read_text())["data"]}))  # killed before its end
    again = regard.cross_validate(path, folds=2, source="text", target="label", run=run, quiet=True, **TINY)
    assert again.to_dict() == found.to_dict()
    assert [(one.run / "model.safetensors").read_bytes() for one in again.folds] == weights
    assert (found.folds[0].run / "model.safetensors").stat().st_mtime_ns == kept

    with pytest.raises(RegardError, match="folds of another spec"):
        regard.cross_validate(path, folds=2, source="text", target="label", run=run, quiet=True)
    assert found.folds[1].load().evaluate(split="test").scores["accuracy"].value == values[1]
