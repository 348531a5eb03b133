"""Every number of card.md is what one computes from the model and its data."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from regard import Model
from regard.data.sources import open_splits

FOLDER = Path(__file__).parent / "folders" / "format-1"
CARD = (FOLDER / "card.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.load(FOLDER)


def table(title: str) -> list[list[str]]:
    """The rows of the table under a heading."""
    lines = CARD.partition(f"## {title}\n")[2].partition("\n## ")[0].strip().splitlines()
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def test_parameters() -> None:
    counted = sum(math.prod(one.shape) for one in load_file(FOLDER / "model.safetensors").values())
    found = re.search(
        r"^- ([\d,]+) parameters \(encoder of source ([\d,]+); decoder of target ([\d,]+)\)", CARD, re.M
    )
    assert found is not None
    whole, encoder, decoder = (int(one.replace(",", "")) for one in found.groups())
    assert whole == counted == encoder + decoder


def test_rows(model: Model) -> None:
    splits = open_splits(model.spec)
    told = {name: int(rows.replace(",", "")) for name, rows, _ in table("Data")}
    assert told == {name: len(list(splits[name])) for name in told} and set(told) > {"train", "dev", "test"}


@pytest.mark.parametrize("split", ["dev", "test", "long"])
def test_scores(model: Model, split: str) -> None:
    told = {metric: (value, int(n)) for part, metric, value, _, n, _ in table("Scores") if part == split}
    rows = list(open_splits(model.spec)[split])
    predictions = model.predict([row["source"] for row in rows])
    right = sum(one.text == row["target"] for one, row in zip(predictions, rows, strict=True))
    assert told["exact"] == (f"{right / len(rows):.4g}", len(rows)) and right > 0
    scores = model.evaluate(split).scores
    assert {metric: f"{score.value:.4g}" for metric, score in scores.items()} == {
        metric: value for metric, (value, _) in told.items()
    }


def test_examples(model: Model) -> None:
    examples = table("Examples")
    assert examples
    for mark, given, written, true in examples:
        assert model.predict(given).text == written and mark == ("✓" if written == true else "✗")
