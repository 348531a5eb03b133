"""Specs written in Python with the parts' own options, and models trained by a custom loop."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

import regard
from regard.data import LabelColumn, TextColumn
from regard.nn import Attention, LabelDecoder, LSTMCell, RecurrentDecoder, RecurrentEncoder
from regard.nn.scores import Additive
from regard.nn.selections import Local
from regard.spec import DataSpec, SearchSpec, TrainingSpec
from regard.spec.sections import DistillOptions
from regard.training.schedules.cosine import CosineSchedule
from regard.worlds.reverse import ReverseWorld

WRITTEN = """
name: reversed
inputs:    {source: {type: text, unit: char, max_length: 40}}
outputs:   {target: {type: text}, topic: {type: label, classes: [a, b]}}
encoder:   {type: recurrent, cell: lstm, size: 256}
decoder:
  target:
    type: recurrent
    cell: {type: lstm}
    size: 128
    attention: {score: {type: additive, size: 32}, select: {type: local, window: 5}}
  topic: {type: label, weight: 0.5}
search:    {method: beam, beam: 4}
training:  {steps: 30, schedule: {type: cosine, warmup: 10}, distill: {from: [runs/a], weight: 0.7}}
data:      {world: {type: reverse, train: 200, seed: 3}}
metrics:   [target.bleu]
"""


def in_python() -> regard.Spec:
    return regard.Spec(
        name="reversed",
        inputs={"source": TextColumn.Options(unit="char", max_length=40)},
        outputs={"target": TextColumn.Options(), "topic": LabelColumn.Options(classes=("a", "b"))},
        encoder=RecurrentEncoder.Options(cell="lstm", size=256),
        decoder={
            "target": RecurrentDecoder.Options(
                cell=LSTMCell.Options(),
                size=128,
                attention=Attention.Options(score=Additive.Options(size=32), select=Local.Options(window=5)),
            ),
            "topic": LabelDecoder.Options(weight=0.5),
        },
        search=SearchSpec(method="beam", beam=4),
        training=TrainingSpec(
            steps=30,
            schedule=CosineSchedule.Options(warmup=10),
            distill=DistillOptions(from_=("runs/a",), weight=0.7),
        ),
        data=DataSpec(world=ReverseWorld(train=200, seed=3)),
        metrics=["target.bleu"],
    )


def test_a_spec_in_python_equals_the_yaml(tmp_path: Path) -> None:
    spec, path = in_python(), tmp_path / "spec.yaml"
    path.write_text(WRITTEN, encoding="utf-8")
    assert spec == regard.Spec.load(path)
    assert regard.Spec.parse(yaml.safe_load(spec.to_yaml())) == spec
    assert spec.changed("encoder.size=64").encoder["source"].size == 64


def test_its_mistakes_are_those_of_the_yaml() -> None:
    column = {"source": TextColumn.Options()}
    with pytest.raises(regard.RegardError, match=r"unknown key 'encodr'\. Did you mean encoder"):
        regard.Spec(
            inputs=column, outputs={"target": TextColumn.Options()}, encodr=RecurrentEncoder.Options()
        )
    with pytest.raises(regard.RegardError, match="'recurrentt' is not a known encoder"):
        regard.Spec(inputs=column, outputs={"target": TextColumn.Options()}, encoder={"type": "recurrentt"})
    with pytest.raises(regard.RegardError, match="expected a mapping from names to columns"):
        regard.Spec(inputs=column)


def small() -> regard.Spec:
    return regard.Spec(
        inputs={"source": TextColumn.Options(unit="char")},
        outputs={"target": TextColumn.Options(unit="char"), "size": LabelColumn.Options()},
        truth={"alignment": {"type": "alignment", "of": ["source", "target"]}},
        encoder=RecurrentEncoder.Options(size=16, embedding=16),
        decoder={
            "target": RecurrentDecoder.Options(
                size=32, embedding=16, attention=(Attention.Options(guide=0.5),)
            ),
            "size": LabelDecoder.Options(),
        },
    )


def rows() -> list[dict[str, str]]:
    words = ["ab", "ba", "abc", "cab", "bca", "cc", "aab", "bb", "ca", "acb"]
    return [
        {
            "source": word,
            "target": word.upper(),
            "size": str(len(word)),
            "alignment": " ".join(f"{place}-{place}" for place in range(len(word))),
        }
        for word in words
    ]


def test_a_model_is_trained_by_the_users_own_loop_saved_and_used(tmp_path: Path, learning_seed: int) -> None:
    torch.manual_seed(1 + learning_seed)
    model = regard.Model.build(small(), rows=rows())
    optimizer = torch.optim.Adam(model.network.parameters(), lr=0.02)
    batches = model.batches(rows(), batch_rows=5, seed=1)
    losses = []
    for epoch in range(30):
        for batch in batches.epoch(epoch):
            found = model.network(batch.to(model.device))
            loss = sum(one.weight * one.mean for one in found.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert set(found) == {"target", "size"} and losses[-1] < 0.3 * losses[0]
    model.eval().save(tmp_path / "model")
    answer = regard.load(tmp_path / "model").predict("abc", output="target")
    assert answer.text == "ABC"
    assert answer.trace is not None and answer.trace.attention["source"].shape == (4, 3)


def test_rows_may_come_from_a_file_or_a_world(tmp_path: Path) -> None:
    spec = regard.Spec(inputs={"source": TextColumn.Options()}, outputs={"target": TextColumn.Options()})
    path = tmp_path / "pairs.tsv"
    path.write_text("a b\tb a\nc\tc\n", encoding="utf-8")
    read = regard.data.read_rows(path, fields=["source", "target"])
    made = regard.worlds.world("copy", train=5, dev=1, test=1, long=1).splits()["train"]
    for given in (read, made):
        model = regard.Model.build(spec, rows=given)
        assert sum(len(batch) for batch in model.batches(given)) == len(list(given))


def test_a_bad_row_is_refused_with_its_number() -> None:
    model = regard.Model.build(small(), rows=rows())
    with pytest.raises(regard.RegardError, match="rows:2: size has the class '9', not among the 2 known"):
        model.batches([rows()[0], {**rows()[1], "size": 9}], batch_rows=2)


def test_build_takes_columns_or_rows() -> None:
    with pytest.raises(regard.RegardError, match="expected exactly one of columns and rows"):
        regard.Model.build(small())
