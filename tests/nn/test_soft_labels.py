"""Soft labels: the loss and the metrics by hand, and the values that are read and refused."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from regard.data import Row
from regard.data.columns import SoftLabelColumn
from regard.errors import RegardError
from regard.fitting.pair_columns import target_column
from regard.fitting.pairs import pairs_spec
from tests.model.small import build, rows, spec

VOTES = ("yes:0.7 no:0.3", "no", "yes:3 no:1", "yes:0.5 no:0.5")
SHARES = ((0.3, 0.7), (1.0, 0.0), (0.25, 0.75), (0.5, 0.5))
"""Of no and yes."""


def test_loss_and_metrics_by_hand() -> None:
    some = [Row({**row, "votes": VOTES[number % 4]}) for number, row in enumerate(rows(8))]
    described = spec(
        outputs={"votes": {"type": "soft-label"}}, decoder={"type": "soft-label"}, attention=None
    )
    model = build(described, some)
    (batch,) = model.batches(some, batch_rows=8, shuffle=False).epoch(0)
    found = model.network(batch)["votes"]
    answers = [model.predict(row["source"]) for row in some]
    costs = [
        -sum(
            share * math.log(answer.probabilities[name])
            for share, name in zip(SHARES[number % 4], ("no", "yes"), strict=True)
        )
        for number, answer in enumerate(answers)
    ]
    assert float(found.total.detach()) == pytest.approx(sum(costs), rel=1e-4) and float(found.count) == 8
    scores = model.evaluate(data=some).scores
    assert scores["cross_entropy"].value == pytest.approx(sum(costs) / 8, rel=1e-4)
    entropy = -sum(share * math.log(share) for one in SHARES for share in one if share) / 4
    assert f"entropy of the truth {entropy:.4g}" in scores["cross_entropy"].signature
    modes = ("yes", "no", "yes", "no")  # of equal shares the first class
    right = [answer.value == modes[number % 4] for number, answer in enumerate(answers)]
    assert scores["accuracy"].value == pytest.approx(sum(right) / 8)


def test_values() -> None:
    column = SoftLabelColumn("votes", classes=["low", "very high"])
    assert column.shares("3 1") == {"low": 0.75, "very high": 0.25}
    assert column.shares(column.written({"very high": 0.5, "low": 0.5})) == {"very high": 0.5, "low": 0.5}
    assert column.encode(column.written([1, 3])).tolist() == [0.25, 0.75]
    wrong = ["1 2 3", "low:x", "low:-1 low:2", "low:-1", "low:0", "middle:1", "", ":1"]
    assert all(column.check_value(one) for one in wrong)
    assert column.check_value("low:2") is None
    free = SoftLabelColumn("votes")
    free.learn(["b:0.7 a:0.3", "b"])
    assert free.classes == ["a", "b"] and free.unseen("c:0.5 a:0.5") == ["c"]
    assert free.encode("c:0.5 a:0.5").tolist() == [0.5, 0.0]


def test_a_file_of_shares_is_recognized(tmp_path: Path) -> None:
    file = tmp_path / "votes.tsv"
    lines = [f"some words {number}\t{VOTES[0]}" for number in range(20)]
    file.write_text("\n".join(lines), encoding="utf-8")
    described = pairs_spec(str(file))
    assert described.outputs["target"].type == described.decoder["target"].type == "soft-label"


@pytest.mark.parametrize(
    ("values", "votes"),
    [
        (["pos:7 neg:3", "pos:0 neg:10", "neg:9 pos:1"], True),  # ten people for each row
        (["pos:7 neg:3", "pos:2 neg:2", "neg:1 pos:1"], True),  # all classes in each row
        (["sport:3 music:1", "music:5", "food:2 sport:4"], False),  # words and their places
    ],
)
def test_votes_are_recognized(values: list[str], votes: bool) -> None:
    assert (target_column(values * 10)["type"] == "soft-label") == votes


def test_rows_without_labels_are_complete_if_no_label_is_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "topics.tsv"
    lines = ["text\tlabels", "a b\tx|y", *[f"some words {number}\t" for number in range(12)]]
    file.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(RegardError, match="has 1 complete row and 12 without a value of 'labels'"):
        pairs_spec(str(file), source="text", target="labels")
    described = pairs_spec(str(file), ["outputs.target.type=multilabel"], source="text", target="labels")
    assert described.outputs["target"].type == "multilabel"
