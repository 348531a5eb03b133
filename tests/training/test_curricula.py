"""Curricula: the levels from which each epoch is drawn, also after an interruption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from regard import Spec
from regard.data import Batches, Dataset, Row
from regard.errors import RegardError
from regard.fitting.experiment import Experiment
from regard.model.building import fit_columns, make_columns
from regard.training.curricula import make_curriculum

EPOCHS = 10


def document(curriculum: Any, **training: Any) -> dict[str, Any]:
    return {
        "inputs": {"program": {"type": "text", "unit": "char"}},
        "outputs": {"result": {"type": "text", "unit": "char"}},
        "truth": {"length": {"type": "group"}, "nesting": {"type": "group"}},
        "encoder": {"type": "recurrent", "cell": "gru", "size": 4, "embedding": 4},
        "decoder": {"type": "recurrent", "cell": "gru", "size": 4, "embedding": 4},
        "training": {"epochs": EPOCHS, "batch_rows": 16, "curriculum": curriculum, **training},
        "metrics": ["loss"],
        "data": {
            "world": {
                "type": "programs",
                "length": 2,
                "nesting": 2,
                "train": 80,
                "dev": 8,
                "test": 8,
                "levels": 8,
            }
        },
    }


def level(row: Mapping[str, str]) -> tuple[int, int]:
    return int(row["length"]), int(row["nesting"])


def drawn(curriculum: Any) -> list[Counter[tuple[int, int]]]:
    """The levels of the rows in the batches of each epoch."""
    spec = Spec.parse(document(curriculum))
    rows = spec.data.provider.splits()["train"]
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: rows)
    dataset = Dataset.build(rows, columns.values())
    made = make_curriculum(spec.training.curriculum, dataset, spec, spec.training.passes)
    batches = Batches(dataset, rows=16, seed=1, draw=made.draw)
    return [
        Counter(level(rows[example]) for batch in batches.epoch(epoch) for example in batch.rows)
        for epoch in range(EPOCHS)
    ]


def test_baseline_is_the_target_alone() -> None:
    assert all(levels == {(2, 2): 80} for levels in drawn("baseline"))


def test_naive_rises_through_the_lengths_of_each_nesting() -> None:
    reached = [set(levels) for levels in drawn({"type": "naive", "until": 0.8})]
    assert all(len(levels) == 1 for levels in reached)
    assert [levels.pop() for levels in reached] == [
        (1, 1), (1, 1), (2, 1), (2, 1), (1, 2), (1, 2), (2, 2), (2, 2), (2, 2), (2, 2),
    ]  # fmt: skip


def test_the_first_of_by_rises_first() -> None:
    reached = [next(iter(levels)) for levels in drawn({"type": "naive", "by": ["nesting", "length"]})]
    assert list(dict.fromkeys(reached)) == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_mix_draws_every_level() -> None:
    total = sum(drawn("mix"), Counter[tuple[int, int]]())
    assert (
        all(150 < count < 250 for count in total.values()) and len(total) == 4 and sum(total.values()) == 800
    )


def test_combined_is_half_of_each() -> None:
    first = sum(drawn("combined")[:2], Counter[tuple[int, int]]())
    assert 75 < first[1, 1] < 125 and all(5 < first[one] < 35 for one in ((2, 1), (1, 2), (2, 2)))


def test_every_row_of_a_level_comes_before_one_comes_again() -> None:
    spec = Spec.parse(document("baseline"))
    rows = spec.data.provider.splits()["train"]
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: rows)
    made = make_curriculum(spec.training.curriculum, Dataset.build(rows, columns.values()), spec, EPOCHS)
    counts = Counter(made.draw(0, np.random.default_rng(0)).tolist())
    assert len(counts) == 20 and set(counts.values()) == {4}


def test_the_length_of_an_input_is_a_level_too() -> None:
    spec = Spec.parse(document({"type": "naive", "by": "program", "stages": 3, "until": 1.0}))
    rows = [Row({"program": "x" * n, "result": "1", "length": "1", "nesting": "1"}) for n in range(1, 10)]
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: rows)
    made = make_curriculum(spec.training.curriculum, Dataset.build(rows, columns.values()), spec, 3)
    lengths = [
        {len(rows[example]["program"]) for example in made.draw(epoch, np.random.default_rng(0))}
        for epoch in range(3)
    ]
    assert lengths == [{1, 2, 3}, {4, 5, 6}, {7, 8, 9}]


@pytest.mark.parametrize(
    ("curriculum", "words"),
    [
        ({"type": "mix", "by": "lenght"}, "neither an input nor a column of type group.*Did you mean length"),
        ({"type": "mix", "until": 0.5}, "until"),
        ("mixed", "mix"),
    ],
)
def test_what_cannot_be_is_refused(curriculum: Any, words: str) -> None:
    with pytest.raises(RegardError, match=f"(?s){words}"):
        Spec.parse(document(curriculum))


def test_levels_must_be_known() -> None:
    nothing = document("mix")
    del nothing["truth"]
    with pytest.raises(RegardError, match=r"needs a difficulty of each row.*by: program"):
        Spec.parse(nothing)
    with pytest.raises(RegardError, match="the level rises with the epochs"):
        Spec.parse(document("naive", epochs=None, steps=100))


@pytest.mark.parametrize(
    ("second", "words"),
    [("1", "all rows of train have the same level"), ("hard", "is 'hard', expected a whole")],
)
def test_rows_without_levels_are_refused(second: str, words: str) -> None:
    spec = Spec.parse(document({"type": "mix", "by": "length"}))
    rows = [
        Row({"program": "x", "result": "1", "length": one, "nesting": "1"}, file="rows", line=line)
        for line, one in enumerate(("1", second), 1)
    ]
    columns = make_columns(spec)
    fit_columns(columns, spec, lambda: rows)
    with pytest.raises(RegardError, match=words):
        make_curriculum(spec.training.curriculum, Dataset.build(rows, columns.values()), spec, EPOCHS)


class Leaving:
    """Stops a training at its third evaluation."""

    def __init__(self) -> None:
        self.left = 3

    def on_evaluation(self, values: Mapping[str, Any]) -> None:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt


def test_an_interrupted_run_goes_on_with_the_same_rows(tmp_path: Path) -> None:
    spec = Spec.parse(document("combined", epochs=4, batch_rows=None, batch_tokens=500))
    Experiment(spec, tmp_path / "whole", device="cpu", quiet=True).train()
    stopped = Experiment(spec, tmp_path / "stopped", device="cpu", quiet=True)
    stopped.callbacks = [Leaving()]  # type: ignore[list-item]
    with pytest.raises(KeyboardInterrupt):
        stopped.train()
    Experiment.resume(tmp_path / "stopped", device="cpu", quiet=True).train()
    one, other = (load_file(tmp_path / run / "model.safetensors") for run in ("whole", "stopped"))
    assert all(torch.equal(one[name], other[name]) for name in one) and one.keys() == other.keys()
