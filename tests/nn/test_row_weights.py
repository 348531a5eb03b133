"""Weights of rows, and rows without a target, against sums over single rows."""

from __future__ import annotations

import pytest
import torch

from regard.data import Row
from regard.errors import RegardError
from regard.metrics import output_metric
from tests.model.small import build, rows, spec

PARTS = {
    "outputs": {"topic": {"type": "label", "optional": True}, "letters": {"type": "multilabel"}},
    "truth": {"share": {"type": "weight"}},
    "encoder": {"type": "mean", "embedding": 6},
    "decoder": {"topic": {"type": "label"}, "letters": {"type": "multilabel"}},
    "attention": None,
}


def data() -> list[Row]:
    shares = ("1", "0", "0.5", "3")
    return [Row({**row, "share": shares[number % 4]}) for number, row in enumerate(rows(12))]


def test_the_loss_is_the_weighted_sum_of_the_losses_of_rows() -> None:
    model = build(spec(**PARTS), data())
    (batch,) = model.batches(data(), batch_rows=12, shuffle=False).epoch(0)
    found, counts = model.network(batch), model.network.counts(batch)
    weights = batch["share"]
    for name in ("topic", "letters"):
        decoder = model.network.decoders[name]
        memories = model.network.memories(name, model.network.encode(batch))
        alone = [
            decoder.loss(
                {key: one.select(torch.tensor([row])) for key, one in memories.items()},
                batch[name][row : row + 1],
            )
            for row in range(12)
        ]
        total = sum(weight * one.total for weight, one in zip(weights, alone, strict=True))
        torch.testing.assert_close(found[name].total, total)
        torch.testing.assert_close(found[name].count, weights.sum())
        torch.testing.assert_close(counts[name], weights.sum())
    found["topic"].total.backward()


def test_rows_without_a_class_train_the_other_output_and_are_not_measured() -> None:
    known = data()
    some = [Row({**row, "topic": ""}) if number % 3 == 0 else row for number, row in enumerate(known)]
    some[1] = Row({key: value for key, value in some[1].items() if key != "topic"})
    model = build(spec(**PARTS), some)
    assert model.columns["topic"].classes == ["no", "yes"] and sum(model.columns["topic"].counts) == 7
    (batch,) = model.batches(some, batch_rows=12, shuffle=False).epoch(0)
    loss = model.network(batch)
    kept = [number for number, row in enumerate(some) if row.get("topic")]
    assert float(loss["topic"].count) == sum(float(some[number]["share"]) for number in kept)
    torch.testing.assert_close(loss["letters"].count, batch["share"].sum())
    scores = model.evaluate(data=some, metrics=["accuracy", "micro_f1"]).scores
    answers = [model.predict(some[number]["source"], output="topic").value for number in kept]
    truth = [some[number]["topic"] for number in kept]
    assert scores["topic.accuracy"].value == output_metric("accuracy")(answers, truth).value
    assert scores["topic.accuracy"].n == 7 and scores["letters.micro_f1"].n == 12


def test_texts_cannot_be_weighted() -> None:
    with pytest.raises(RegardError, match="a recurrent decoder cannot weight rows"):
        spec(truth={"share": {"type": "weight"}})
