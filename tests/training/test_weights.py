"""Starting from another model's weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from regard.errors import RegardError
from regard.storage.tensors import first_not_finite
from regard.training import start_from
from regard.training.weights import set_weights

from .tiny import TinyNetwork, train


def test_what_fits_is_taken_and_the_rest_is_named(tmp_path: Path) -> None:
    source, target = TinyNetwork(), TinyNetwork()
    weights = {name: tensor for name, tensor in source.state_dict().items() if name != "tags.bias"}
    weights |= {"label.weight": torch.zeros(5, 16), "other": torch.zeros(2)}
    save_file(weights, tmp_path / "model.safetensors")
    untouched = target.label.weight.clone()
    report = start_from(target, tmp_path)
    assert (
        report.absent == ("tags.bias",) and report.reshaped == ("label.weight",) and report.left == ("other",)
    )
    assert torch.equal(target.embedding.weight, source.embedding.weight)
    assert torch.equal(target.label.weight, untouched)
    assert str(report).splitlines() == [
        "7 of 9 weights loaded",
        "  not in the source: tags.bias",
        "  of another shape: label.weight",
        "  not used: other",
    ]


def test_a_run_starts_where_the_other_ended(tmp_path: Path) -> None:
    first = train(tmp_path / "first", epochs=3)
    second = train(tmp_path / "second", epochs=1, lr=1e-6, start_from=str(tmp_path / "first"))
    assert second.metrics["loss"] == pytest.approx(first.metrics["loss"], rel=1e-2)


def test_a_source_that_fits_nowhere_is_refused(tmp_path: Path) -> None:
    save_file({"other": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(RegardError, match="none of its 1 weights matches"):
        start_from(TinyNetwork(), tmp_path)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"nowhere: no model\.safetensors to start from"):
        start_from(TinyNetwork(), tmp_path / "nowhere")


def test_weights_set_by_hand(tmp_path: Path) -> None:
    network = TinyNetwork()
    shape, bias = network.label.weight.shape, network.label.bias.clone()
    numbers = torch.arange(float(shape.numel())).reshape(shape)
    (tmp_path / "weights.json").write_text(json.dumps({"label.weight": numbers.tolist()}))
    save_file({"label.weight": numbers + 1}, tmp_path / "weights.safetensors")
    assert set_weights(network, {"label.weight": (numbers + 2).tolist()}) == ["label.weight"]
    assert torch.equal(network.label.weight, numbers + 2) and torch.equal(network.label.bias, bias)
    for file, added in (("weights.json", 0), ("weights.safetensors", 1)):
        set_weights(network, str(tmp_path / file))
        assert torch.equal(network.label.weight, numbers + added)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ({"label.wieght": [[1.0]]}, r"'label.wieght' is not a weight of this model\..* mean label.weight\?"),
        ({"label.weight": [[1.0]]}, r"label.weight has shape \(1, 1\), expected \("),
        ({"label.weight": [[1.0], [1.0, 2.0]]}, "expected numbers of shape"),
        ({"label.weight": "one"}, "expected numbers of shape"),
        ("nowhere.json", r"nowhere\.json: there is no such file"),
    ],
)
def test_weights_that_do_not_fit_are_refused(weights: Any, words: str) -> None:
    network = TinyNetwork()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with pytest.raises(RegardError, match=f"(?s){words}"):
        set_weights(network, weights)
    assert all(torch.equal(tensor, before[name]) for name, tensor in network.state_dict().items())


def test_weights_that_are_not_finite_are_refused() -> None:
    network = TinyNetwork()
    with pytest.raises(RegardError, match="not finite"):
        set_weights(network, {"label.bias": torch.full_like(network.label.bias, torch.nan)})


def test_large_weights_are_finite_although_their_sum_is_not() -> None:
    large = torch.full((4,), 3e38)
    assert first_not_finite({"count": torch.ones(2, dtype=torch.long), "large": large}.items()) is None
    for wrong in (torch.tensor([1.0, torch.nan]), torch.tensor([torch.inf, -torch.inf])):
        assert first_not_finite({"large": large, "wrong": wrong}.items()) == "wrong"
