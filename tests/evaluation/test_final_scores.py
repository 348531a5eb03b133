"""The scores at the end of a run: the metric that decided, named baselines, intervals, lengths, merged rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch import nn

import regard
from regard import RegardError
from regard.metrics import confidence_interval, interval_of, metric
from regard.training.checkpoint import Snapshot, Snapshots

Run = Callable[..., tuple[int, str, str]]
ROWS = [
    {
        "a": f"w{n % 7} x",
        "b": f"{n} y z z z",
        "label": "abcde"[n % 5 if n < 20 else 0],
        "kind": "k" if n else "l",
    }
    for n in range(26)
]
SPEC: dict[str, Any] = {
    "inputs": {"a": {"type": "text", "unit": "word"}, "b": {"type": "text", "unit": "word"}},
    "outputs": {"label": {"type": "label"}},
    "truth": {"kind": {"type": "group"}},
    "encoder": {"size": 4, "embedding": 4},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    regard.fit(
        ROWS, spec={**SPEC, "training": {"steps": 2, "metric": "macro_f1"}}, run=folder, dev=ROWS[:13],
        test=ROWS[:13], device="cpu", quiet=True,
    )  # fmt: skip
    return folder


def test_the_metric_that_decides_is_among_the_final_scores(run: Path) -> None:
    model = regard.load(run, device="cpu")
    assert set(model.metrics["scores"]["dev"]) == {"accuracy", "macro_f1"}
    assert set(model.evaluate("test").scores) == {"accuracy", "macro_f1"}
    assert set(model.evaluate("test", metrics=["accuracy"]).scores) == {"accuracy"}


def test_the_end_says_which_weights_were_kept_and_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    regard.fit(
        ROWS, spec={**SPEC, "training": {"steps": 1}}, run=tmp_path / "run", dev=ROWS[:13], device="cpu"
    )  # fmt: skip
    said = " ".join(capsys.readouterr().out.split())
    assert "kept step 1 (dev loss " in said


def test_a_baseline_is_named_for_what_it_is(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = regard.load(run, device="cpu").evaluate("test")
    share = sum(row["label"] == "a" for row in ROWS[:13]) / 13  # the most frequent class of the training data
    assert f"(majority baseline {share:.4g})" in repr(found) and "chance" not in repr(found)
    assert found.to_dict()["accuracy"]["baseline"] == "majority baseline: accuracy of always 'a'"
    card = (run / "card.md").read_text(encoding="utf-8")
    assert f"{share:.4g} (majority baseline)" in card
    assert metric("top2").baseline_name == "chance level"


def test_one_row_gives_no_interval(regard: Run, run: Path, tmp_path: Path) -> None:
    one = confidence_interval(metric("accuracy"), ["x"], ["x"])  # type: ignore[arg-type]
    assert one.value == 1 and np.isnan([one.low, one.high]).all() and "no interval" in str(one)
    two = interval_of(metric("accuracy"), np.array([[1.0, 1.0], [0.0, 1.0]]))  # type: ignore[arg-type]
    assert (two.low, two.high) == (0.0, 1.0)
    out = tmp_path / "scores.json"
    code, text, _ = regard("evaluate", str(run), "--by", "kind", "--json", str(out), "--device", "cpu")
    assert code == 0 and "one row, no interval" in text
    cells = json.loads(out.read_text())["models"][str(run)]["by"]["cells"]
    assert [cell[-1] for cell in cells if cell[0] == "l"] == [None]


def test_the_input_whose_length_counts_is_named_and_can_be_chosen(regard: Run, run: Path) -> None:
    code, text, _ = regard("evaluate", str(run), "--by-length", "--device", "cpu")
    assert code == 0 and "by length of the longest of the inputs a and b (--length-of" in " ".join(
        text.split()
    )
    code, text, _ = regard("evaluate", str(run), "--length-of", "a", "--device", "cpu")
    assert code == 0 and "by length of the input a" in " ".join(text.split())
    code, _, error = regard("evaluate", str(run), "--length-of", "c", "--device", "cpu")
    assert code != 0 and "no input is named 'c'" in error


def test_merged_rows_are_explained(run: Path) -> None:
    rows = [*ROWS[:4], *ROWS[:2]]
    found = regard.load(run, device="cpu").evaluate(data=[dict(row) for row in rows])
    assert len(found.inputs) == 4
    assert any("6 rows have 4 different inputs" in remark for remark in found.remarks)


def test_lists_are_readable_in_predictions(regard: Run, tmp_path: Path) -> None:
    rows = [
        {"document": [f"Word {n} came.", "It went."], "label": "yes" if n % 2 else "no"} for n in range(12)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "my.yaml").write_text(
        "inputs: {document: {type: document}}\noutputs: {label: {type: label}}\n"
        "encoder: {type: hierarchical, words: {size: 4, embedding: 4}, sentences: {size: 4}}\n"
        f"training: {{steps: 1}}\ndata: {{train: {tmp_path}/rows.jsonl, dev: {tmp_path}/rows.jsonl}}\n"
    )
    assert regard("train", str(tmp_path / "my.yaml"), "-o", str(tmp_path / "run"), "--device", "cpu")[0] == 0
    out = tmp_path / "out.tsv"
    assert regard("evaluate", str(tmp_path / "run"), "--predictions", str(out), "--device", "cpu")[0] == 0
    for text in (out.read_text(), (tmp_path / "run" / "card.md").read_text()):
        assert "Word 0 came. It went." in text and "\ufdd0" not in text


@pytest.mark.parametrize(
    ("offers", "best"),
    [
        ([(1, 0.5, 3.0), (2, 0.5, 1.0), (3, 0.5, 2.0)], 2),  # the lower loss
        ([(1, 0.5, 1.0), (2, 0.5, 1.0)], 2),  # then the later one
        ([(1, 0.6, 3.0), (2, 0.5, 1.0)], 1),  # first of all the metric
        ([(1, 0.5, 3.0), (2, float("nan"), 1.0)], 1),
        ([(1, 0.5, float("nan")), (2, 0.5, 9.0)], 2),
    ],
)
def test_ties_are_broken_by_the_loss_on_dev(
    tmp_path: Path, offers: list[tuple[int, float, float]], best: int
) -> None:
    kept = Snapshots(tmp_path, count=1, higher_is_better=True)
    for step, value, loss in offers:
        kept.offer(nn.Linear(1, 1), Snapshot(step, {"loss": loss, "exact": value}, value), write_files=False)
    assert kept.best is not None and kept.best.step == best


def test_no_input_of_that_name(run: Path) -> None:
    found = regard.load(run, device="cpu").evaluate("test")
    with pytest.raises(RegardError, match="The inputs are a, b"):
        found.by_length("accuracy", of="c")
