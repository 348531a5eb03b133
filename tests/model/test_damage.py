"""Damaged, changed or poisoned folders are refused before they take memory; no wrong answer is given."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import resource
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard import Model, RegardError
from regard.training.weights import start_from
from tests.model.small import build, rows, spec
from tests.nn.careless import careless_attention

WEIGHTS = "model.safetensors"
PLAIN = {"attention": {"score": "location"}}
MODELS: dict[str, dict[str, Any]] = {
    "fused": {},
    "fused, sigmoid": {"attention": {"score": "additive", "select": "sigmoid"}},
    "fused, segments": {"attention": {"score": "additive", "select": "segments"}},
    "plain": {
        "encoder": {"size": 8, "embedding": 6, "cell": "lstm"},
        "decoder": {"size": 10, "cell": "lstm"},
    },
    "transformer": {
        "encoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 1},
        "decoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 1},
        "attention": None,
    },
    "transformer with distances": {
        "encoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 1, "distances": 2},
        "decoder": {"type": "transformer", "size": 8, "heads": 2, "layers": 1, "distances": 2},
        "attention": None,
    },
    "label": {"outputs": {"topic": {"type": "label"}}, "attention": None, "decoder": {"type": "label"}},
    "tags": {
        "outputs": {"tags": {"type": "tags", "of": "source"}},
        "attention": None,
        "decoder": {"type": "crf"},
    },
}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    build(spec()).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("attention", ["of torch", "that loses NaN, as on x86"])
def test_a_poisoned_parameter_reaches_the_loss_and_gives_no_answer(
    name: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "loses" in attention:
        if "transformer" not in name:
            pytest.skip("does not call torch's attention")
        monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", careless_attention)
    model = build(spec(**MODELS[name], search={"max_length": 4}))
    batches = list(model.batches(rows(), batch_rows=40, shuffle=False).epoch(0))

    def loss() -> float:
        return sum(total for total, _ in model.losses(iter(batches)).values())

    assert math.isfinite(loss())
    for parameter_name, parameter in model.network.named_parameters():
        before = parameter.detach().clone()
        with torch.no_grad():
            parameter.fill_(math.nan)
        with contextlib.suppress(RegardError):
            assert not math.isfinite(loss()), parameter_name
        with pytest.raises(RegardError, match=r"scores are not finite.*Load another checkpoint"):
            model.predict("abc")
        with torch.no_grad():
            parameter.copy_(before)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_finite_are_refused(saved: Path, value: float) -> None:
    tensors = load_file(saved / WEIGHTS)
    name = sorted(tensors)[0]
    tensors[name].view(-1)[-1] = value
    save_file(tensors, saved / WEIGHTS)
    with pytest.raises(RegardError, match=rf"the weights {name} are not finite"):
        Model.load(saved)
    with pytest.raises(RegardError, match=rf"the weights {name} are not finite"):
        start_from(build(spec()).network, saved)
    model = build(spec())
    with torch.no_grad():
        next(model.network.parameters()).view(-1)[0] = value
    whole = (saved / WEIGHTS).read_bytes()
    with pytest.raises(RegardError, match="not finite"):
        model.save(saved)
    assert (saved / WEIGHTS).read_bytes() == whole


def test_every_flipped_bit_of_the_weights_is_noticed(saved: Path) -> None:
    answer = Model.load(saved).predict("abc")
    whole = (saved / WEIGHTS).read_bytes()
    header = int.from_bytes(whole[:8], "little")
    generator = random.Random(0)
    for place in [*range(8), *generator.sample(range(8, len(whole)), 150)]:
        if whole[place : place + 1] == b" " and place < 8 + header:
            continue  # padding after the header
        damaged = bytearray(whole)
        damaged[place] ^= 1 << generator.randrange(8)
        (saved / WEIGHTS).write_bytes(damaged)
        with pytest.raises(RegardError):
            Model.load(saved)
    (saved / WEIGHTS).write_bytes(whole)
    assert Model.load(saved).predict("abc").text == answer.text


def test_a_changed_spec_or_vocabulary_is_noticed(saved: Path) -> None:
    columns, described = (saved / "columns.json").read_text(), (saved / "spec.yaml").read_text()
    content = json.loads(columns)
    text = json.dumps(content, ensure_ascii=False, indent=1).replace('"a"', '"b"', 1).replace('"b"', '"a"', 1)
    (saved / "columns.json").write_text(text.replace('"c"', '"z"', 1))
    with pytest.raises(
        RegardError, match=r"columns.json: this file was damaged or changed after the weights were saved"
    ):
        Model.load(saved)
    (saved / "columns.json").write_text(columns)
    (saved / "spec.yaml").write_text(described + "search: {method: beam}\n")
    with pytest.raises(RegardError, match=r"spec.yaml: this file was damaged or changed .* use search=…"):
        Model.load(saved)
    (saved / "spec.yaml").write_text(
        "name: other\ndescription: renamed\ntraining: {epochs: 99}\n" + described
    )
    assert Model.load(saved, overrides=["search.method=beam"]).spec.name == "other"


def test_a_folder_from_before_there_were_digests_loads(saved: Path) -> None:
    answer = Model.load(saved).predict("abc")
    save_file(load_file(saved / WEIGHTS), saved / WEIGHTS, metadata={"format": "pt"})
    assert Model.load(saved).predict("abc").text == answer.text


def test_a_folder_of_the_first_version_is_refused_with_the_reason(saved: Path) -> None:
    """Its weights would load, and some models would answer differently."""
    save_file(load_file(saved / WEIGHTS), saved / WEIGHTS, metadata={"format": "pt", "regard": "0.1.0"})
    with pytest.raises(
        RegardError, match=r"regard 0\.1\.0 wrote them.*answer differently.*Train the model again"
    ):
        Model.load(saved)


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        build(spec()).save(tmp_path / name)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


@pytest.mark.parametrize("size", ["60000", "65536"])
def test_a_much_larger_spec_takes_no_memory(saved: Path, size: str) -> None:
    save_file(
        load_file(saved / WEIGHTS), saved / WEIGHTS, metadata={"format": "pt"}
    )  # no digest to reveal the change
    path = saved / "spec.yaml"
    path.write_text(path.read_text().replace("size: 10", f"size: {size}"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RegardError, match="weights and spec do not match"):
        Model.load(saved)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # kilobytes


@pytest.mark.parametrize(
    "change",
    ["encoder.layers=1000000", "search.beam=1000000", "search.max_length=1000000000", "encoder.size=1e9"],
)
def test_sizes_without_sense_are_refused(change: str) -> None:
    with pytest.raises(RegardError, match="expected"):
        spec().changed(change)


@pytest.mark.parametrize("name", ["metrics.json", "columns.json", "manifest.json", "parts.json"])
@pytest.mark.parametrize(
    "content", ["", "{", "[1]", "null", "[" * 100_000, '{"scores": 3}', '{"columns": []}', "\udcff"]
)
def test_damaged_json_gives_an_error_or_the_same_answer(saved: Path, name: str, content: str) -> None:
    answer = Model.load(saved).predict("abc")
    (saved / name).write_bytes(content.encode(errors="surrogateescape"))
    try:
        assert Model.load(saved).predict("abc").text == answer.text
    except RegardError as error:
        assert name in str(error)


def test_a_card_shows_what_a_spec_says_and_nothing_more(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> [x](javascript:y) \x1b]52;c;aGk=\x07 \u202egpj"
    build(spec(name=evil, description=evil)).save(tmp_path)
    text = (tmp_path / "card.md").read_text()
    assert "<script" not in text.replace("\\<", "") and "](" not in text.replace("\\](", "")
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


@pytest.mark.parametrize("name", [WEIGHTS, "columns.json"])
def test_a_file_that_may_not_be_read_is_not_called_damaged(
    saved: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(name):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(RegardError, match=rf"{name}: .*Permission denied.* chmod u\+r .*{name}"):
        Model.load(saved)
