"""One file that holds all splits, and labels that mean no label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from regard.data.sources import build_dataset, open_splits
from regard.errors import RegardError
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec

TABLE = """pair\ttext\tlabel\tpart
1\ta b\tyes\tTRAIN
2\tb c\tno\tTRIAL
3\tc d\tno\tTRAIN
4\td e\tyes\t TEST
5\te f\tno\tEXTRA
"""


def spec(**data: Any) -> Spec:
    return Spec.parse(
        {
            "inputs": {"text": {"type": "text"}},
            "outputs": {"label": {"type": "label", "classes": ["yes", "no"]}},
            "data": data,
        }
    )


def test_rows_are_chosen_by_their_fields(tmp_path: Path) -> None:
    file = tmp_path / "all.txt"
    file.write_text(TABLE)
    name = str(file)
    splits = open_splits(
        spec(
            train=name,
            dev=name,
            test=name,
            format="tsv",
            where={"train": {"part": "TRAIN"}, "dev": {"part": "TRIAL"}, "test": {"part": ["TEST", "EXTRA"]}},
        )
    )
    found = {split: [row["text"] for row in rows] for split, rows in splits.items()}
    assert found == {"train": ["a b", "c d"], "dev": ["b c"], "test": ["d e", "e f"]}
    assert [row.where for row in splits["dev"]] == [f"{name}:3"]
    marks = [rows.fingerprint() for rows in splits.values()]  # type: ignore[attr-defined]
    assert len(set(marks)) == 3, "splits of one file must not share a cache"


def test_a_broken_row_is_reported_whatever_is_chosen(tmp_path: Path) -> None:
    file = tmp_path / "all.tsv"
    file.write_text(TABLE + "6\tonly two cells\n")
    (rows,) = [open_splits(spec(train=str(file), dev=str(file), where={"dev": {"part": "TRIAL"}}))["dev"]]
    problems = [row.problem for row in rows.with_problems() if row.problem]  # type: ignore[attr-defined]
    assert len(problems) == 1 and "2 tab-separated cells" in problems[0]


def test_a_split_without_files_or_of_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match="but data names no files for it"):
        spec(train="a.tsv", where={"dev": {"part": "TRIAL"}})
    with pytest.raises(RegardError, match="splits are train, dev and test"):
        spec(train="a.tsv", where={"valid": {"part": "TRIAL"}})


def test_pairs_no_one_agrees_on_are_set_aside_with_the_reason(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("REGARD_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "snli.jsonl"
    labels = ["yes", "-", "no", "-", "yes"]
    file.write_text(
        "".join(json.dumps({"text": f"t{i}", "label": label}) + "\n" for i, label in enumerate(labels))
    )
    asked = spec(train=str(file), dev=str(file), bad_rows="skip")
    columns = make_columns(asked)
    rows = open_splits(asked)["train"]
    fit_columns(columns, asked, lambda: rows)
    dataset = build_dataset(
        rows, asked, list(columns.values()), gather=False, rejected=tmp_path / "rejected.tsv"
    )
    assert len(dataset) == 3 and dataset.rejected == 2
    assert (tmp_path / "rejected.tsv").read_text().count("the class '-', not among the 2 known") == 2
