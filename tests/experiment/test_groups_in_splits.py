"""An automatic split keeps the rows of a conversation together, and inputs in two splits are reported."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import regard
from regard import RegardError, Spec
from regard.data.sources import open_splits, with_group

SMALL: dict[str, Any] = {
    "encoder": {"size": 4},
    "training": {"steps": 1},
    "device": "cpu",
}


def dialogs(path: Path, count: int = 30, field: str = "conversation_id") -> str:
    """Five rows for each conversation; every input is new."""
    rows = [
        {"source": f"turn {turn} of {dialog}", "target": f"answer {turn}", field: f"d{dialog}"}
        for dialog in range(count)
        for turn in range(5)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def spec_of(train: str, **data: Any) -> Spec:
    text = {"type": "text"}
    return Spec(
        inputs={"source": text}, outputs={"target": text}, data={"train": train, "hold_out": 0.2, **data}
    )


def sides(spec: Spec, field: str) -> tuple[set[str], set[str]]:
    splits = open_splits(spec)
    return tuple({row[field] for row in splits[name]} for name in ("train", "dev"))  # type: ignore[return-value]


@pytest.mark.parametrize("field", ["conversation_id", "dialogID", "doc", "Session Id"])
def test_a_conversation_is_on_one_side(tmp_path: Path, field: str) -> None:
    spec = with_group(spec_of(dialogs(tmp_path / "rows.jsonl", field=field)))
    assert spec.data.group == field
    train, dev = sides(spec, field)
    assert not train & dev and len(dev) == 6 and len(train) == 24


def test_a_column_of_the_spec_counts_too_and_other_groups_do_not(tmp_path: Path) -> None:
    train = dialogs(tmp_path / "rows.jsonl", field="conversation")
    spec = spec_of(train).changed("truth={conversation: {type: group}}")
    assert with_group(spec).data.group == "conversation"
    level = spec_of(dialogs(tmp_path / "levels.jsonl", field="level")).changed("truth={level: {type: group}}")
    assert with_group(level).data.group is None  # of a level, rows are needed on both sides
    told = spec_of(dialogs(tmp_path / "speakers.jsonl", field="speaker"), group="speaker")
    assert not set.intersection(*sides(told, "speaker"))
    few = spec_of(dialogs(tmp_path / "few.jsonl", count=3), group="conversation_id")
    assert [len(side) for side in sides(few, "conversation_id")] == [2, 1]
    with pytest.raises(RegardError, match="1 distinct values of conversation_id are too few"):
        open_splits(spec_of(dialogs(tmp_path / "one.jsonl", count=1), group="conversation_id"))
    with pytest.raises(RegardError, match=r"data\.group: no row has the field 'speakr'"):
        open_splits(spec_of(train, group="speakr"))


def test_of_a_few_inputs_one_is_held_out_whatever_they_are(tmp_path: Path) -> None:
    for start in range(0, 200, 10):
        path = tmp_path / f"{start}.tsv"
        path.write_text("".join(f"word{n}\tlabel\n" for n in range(start, start + 10)))
        splits = open_splits(spec_of(str(path), hold_out=0.05))
        assert len(list(splits["dev"])) >= 1 and len(list(splits["train"])) >= 5


def test_an_identifier_of_single_rows_is_no_group(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"source": f"a {n}", "target": "b", "doc_id": str(n)} for n in range(40)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert with_group(spec_of(str(path))).data.group is None


def test_the_message_says_so_and_an_evaluation_splits_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = dialogs(tmp_path / "rows.jsonl")
    model = regard.fit(file, run=tmp_path / "run", **SMALL)
    said = " ".join(capsys.readouterr().out.split())
    assert "rows with the same conversation_id stay together: 2 of 30 are held out as dev" in said
    assert "5 % of the values of conversation_id, with all their rows, are held out" in said
    assert regard.load(tmp_path / "run").spec.data.group == "conversation_id"
    assert len(model.evaluate("dev").inputs) == 10
    regard.fit(file, run=tmp_path / "apart", overrides=["data.group=none"], **SMALL)
    assert "stay together" not in capsys.readouterr().out


def test_inputs_in_two_splits_are_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(f"word {n}", "yes" if n % 2 else "no") for n in range(30)]
    dev, test = [*pairs[:3], ("other", "no")], [("new", "yes")]
    regard.fit(
        pairs,
        dev=dev,
        test=test,
        run=tmp_path / "run",
        device="cpu",
        encoder={"size": 4},
        training={"steps": 1},
    )
    said = " ".join(capsys.readouterr().out.split())
    assert "dev: 3 of 4 distinct inputs also occur in train" in said and said.count("also occur") == 1
