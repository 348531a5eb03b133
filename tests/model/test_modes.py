"""Predicting does not change the caller's state: mode of the network, generators, precision, environment."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import regard
from regard.data import Dataset
from regard.errors import RegardError
from regard.evaluation import evaluate
from regard.fitting.experiment import Experiment
from regard.model.building import fit_columns, make_columns
from regard.spec import Spec
from regard.testing.rows import rows as rows_of_all
from regard.testing.specs import document
from regard.training.state import Generators
from tests.model.small import build, rows, spec

PAIRS = [(word, word[::-1]) for word in ("ab", "abc", "ba", "cab", "bca", "bb", "aa", "acb")] * 3
SETTINGS = ["training.steps=2", "encoder.size=4", "decoder.size=4", "encoder.dropout=0.5"]


def test_predictions_do_not_depend_on_the_mode_and_leave_it() -> None:
    model = build(spec(encoder={"size": 8, "embedding": 6, "dropout": 0.5}))
    words = ["abc", "hgf", "dad"]
    before = [(answer.text, answer.score) for answer in model.predict(words)]
    scores = [answer.score for answer in model.score(words, ["A", "B C", "D"])]
    model.network.train()
    frozen = model.network.encoders["source"].layers[0].eval()
    assert [(answer.text, answer.score) for answer in model.predict(words)] == before
    assert [answer.score for answer in model.score(words, ["A", "B C", "D"])] == scores
    assert model.network.training and model.network.decoders["target"].training and not frozen.training


def test_an_evaluation_leaves_the_mode() -> None:
    model = build(spec(encoder={"size": 8, "embedding": 6, "dropout": 0.5}))
    dataset = Dataset.build(rows(), model.columns.values())
    before = evaluate(model, dataset, ["loss"]).scores["loss"].value
    model.network.train()
    assert evaluate(model, dataset, ["loss"]).scores["loss"].value == before
    assert model.network.training


def test_nothing_scored_is_nothing() -> None:
    model = build(spec())
    assert model.score([], []) == [] and model.predict([]) == []


def _state() -> tuple[Any, ...]:
    generators = Generators.capture()
    return (
        generators.values,
        {name: state.tolist() for name, state in generators.tensors.items()},
        torch.get_float32_matmul_precision(),
        dict(os.environ),
    )


def test_fit_and_load_leave_what_is_the_callers(tmp_path: Path) -> None:
    random.seed(5), np.random.seed(5), torch.manual_seed(5)
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        before = _state()
        regard.fit(PAIRS, run=tmp_path / "run", overrides=SETTINGS, device="cpu", quiet=True)
        assert _state() == before
        regard.load(tmp_path / "run", device="cpu")
        assert _state() == before
    finally:
        torch.set_float32_matmul_precision(precision)


def test_what_the_caller_draws_between_building_and_training_changes_nothing(tmp_path: Path) -> None:
    found = []
    for name, drawn in (("one", 0), ("other", 7)):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"{source}\t{target}\n" for source, target in PAIRS), encoding="utf-8")
        experiment = Experiment.start(
            str(path), run=tmp_path / name, overrides=SETTINGS, device="cpu", quiet=True
        )
        torch.rand(drawn), np.random.rand(drawn), [random.random() for _ in range(drawn)]
        found.append(experiment.train().network.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def _oracle(*truth: str) -> Spec:
    made = document("pointed")
    made["truth"] = {name: made["truth"][name] for name in truth}
    made["decoder"]["topic"]["attention"]["select"] = "oracle"
    return Spec.parse(made)


def test_a_label_that_looks_where_the_truth_says_is_evaluated() -> None:
    described = _oracle("places")
    columns = make_columns(described)
    fit_columns(columns, described, rows_of_all)
    torch.manual_seed(0)
    model = regard.Model.build(described, columns)
    dataset = Dataset.build(rows_of_all(), columns.values())
    scores = evaluate(model, dataset, ["loss", "accuracy"]).scores
    assert scores["loss"].value > 0 and 0 <= scores["accuracy"].value <= 100
    with pytest.raises(RegardError, match="needs the true alignment, and none was given"):
        model.predict({"image": rows_of_all()[0]["image"]})


def test_a_label_without_the_truth_cannot_look_where_it_says() -> None:
    with pytest.raises(RegardError, match="select: oracle needs the true regions, and no truth column"):
        _oracle()


@pytest.mark.parametrize("sharing", ["inputs", "outputs"])
def test_characters_of_a_shared_vocabulary_are_refused(sharing: str) -> None:
    made = document("plain")
    made["encoder"]["source"]["characters"] = {}
    side, other = ("source", "target") if sharing == "inputs" else ("target", "source")
    made[sharing][side]["shared"] = other
    with pytest.raises(RegardError, match="characters cannot be used with a shared vocabulary") as refused:
        Spec.parse(made)
    assert refused.value.where == "encoder.source.characters"
