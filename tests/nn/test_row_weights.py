"""Weights of rows, and rows without a target, against sums over single rows."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from regard import Spec
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


TAGS = {"outputs": {"tags": {"type": "tags", "of": "source"}}, "attention": None}
WRITERS: dict[str, dict[str, Any]] = {
    "recurrent": {},
    "guided": {"truth": {"share": {"type": "weight"}, "alignment": {"type": "alignment", "of": ["source", "target"]}},
               "attention": {"score": "additive", "guide": 0.5}},
    "copying": {"outputs": {"target": {"type": "text", "unit": "char", "field": "source"}},
                "decoder": {"size": 10, "embedding": 6, "copy": {}}},
    "transformer": {"decoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 1}, "attention": None},
    "feed-forward": {"decoder": {"type": "feed-forward", "size": 8, "embedding": 6}},
    "ctc": {"decoder": {"type": "ctc", "upsample": 2}, "attention": None},
    "tags": {**TAGS, "decoder": {"type": "tags"}},
    "crf": {**TAGS, "decoder": {"type": "crf"}},
    "tree": {"inputs": {"source": {"type": "text", "unit": "word"}},
             "outputs": {"heads": {"type": "tree", "of": "source"}}, "attention": None, "decoder": {"type": "tree"}},
    "constituents": {"inputs": {"source": {"type": "text", "unit": "word"}},
                     "outputs": {"phrases": {"type": "constituents", "of": "source"}}, "attention": None,
                     "decoder": {"type": "constituents"}},
}  # fmt: skip


@pytest.mark.parametrize("decoder", WRITERS)
def test_the_loss_of_sequences_and_trees_is_the_weighted_sum_of_rows_alone(decoder: str) -> None:
    some = data()
    if decoder in ("tree", "constituents"):
        some = [sentence(row) for row in some]
    described = spec(**{"truth": {"share": {"type": "weight"}}, **WRITERS[decoder]})
    model = build(described, some)
    (batch,) = model.batches(some, batch_rows=12, shuffle=False).epoch(0)
    (name,) = described.outputs
    found, counts = model.network(batch)[name], model.network.counts(batch)
    total, count = 0.0, 0.0
    for row in some:
        (single,) = model.batches([Row({**row, "share": "1"})], shuffle=False).epoch(0)
        alone = model.network(single)[name]
        total = total + float(row["share"]) * alone.total
        count = count + float(row["share"]) * alone.count
    torch.testing.assert_close(found.total, total, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.count.float(), count)
    torch.testing.assert_close(counts[name].float(), count)
    found.total.backward()


def sentence(row: Row) -> Row:
    """A sentence of the row's letters; each depends on the one before, and all but the first are one phrase."""
    words = list(row["source"])
    heads = " ".join(f"{place}:dep" for place in range(len(words)))
    phrases = f"(S {words[0]} (X {' '.join(words[1:])}))"
    return Row({"source": " ".join(words), "heads": heads, "phrases": phrases, "share": row["share"]})


def test_distilled_distributions_are_divided_among_the_weights() -> None:
    from regard.nn.decoders.output import Distilled
    from regard.nn.row_weights import weighted_loss

    some = data()
    model = build(spec(), some)
    (batch,) = model.batches(some, batch_rows=12, shuffle=False).epoch(0)
    decoder: Any = model.network.decoders["target"]
    memories = model.network.memories("target", model.network.encode(batch))
    taught = Distilled(decoder.distribution(memories, batch["target"]).flip(1), 0.7)
    whole = decoder.loss(memories, batch["target"], distilled=taught)
    twice = weighted_loss(decoder.loss, memories, batch["target"], torch.full((12,), 2.0), distilled=taught)
    torch.testing.assert_close(twice.total, 2 * whole.total)
    halves = [
        weighted_loss(
            decoder.loss, memories, batch["target"], (torch.arange(12) % 2 == part).float(), distilled=taught
        )
        for part in (0, 1)
    ]
    torch.testing.assert_close(halves[0].total + halves[1].total, whole.total)


def test_a_running_text_has_no_rows_to_weight() -> None:
    with pytest.raises(RegardError, match="is one running text, which has no rows to weight"):
        Spec.parse(
            {
                "outputs": {"text": {"type": "stream", "unit": "char"}},
                "truth": {"share": {"type": "weight"}},
                "decoder": {"type": "language"},
            }
        )
