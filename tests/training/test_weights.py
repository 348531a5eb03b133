"""Starting from another model's weights."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from regard.errors import RegardError
from regard.training import start_from

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
        "7 of 9 weights taken",
        "  not in the source: tags.bias",
        "  other shape: label.weight",
        "  left in the source: other",
    ]


def test_a_run_starts_where_the_other_ended(tmp_path: Path) -> None:
    first = train(tmp_path / "first", epochs=3)
    second = train(tmp_path / "second", epochs=1, lr=1e-6, start_from=str(tmp_path / "first"))
    assert second.metrics["loss"] == pytest.approx(first.metrics["loss"], rel=1e-2)


def test_a_source_that_fits_nowhere_is_refused(tmp_path: Path) -> None:
    save_file({"other": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(RegardError, match="none of its 1 weights fits"):
        start_from(TinyNetwork(), tmp_path)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RegardError, match=r"nowhere: no model\.safetensors to start from"):
        start_from(TinyNetwork(), tmp_path / "nowhere")
