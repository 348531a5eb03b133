"""Pretrained vectors from a text file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import regard
from regard import RegardError

from .small import build, spec


def test_pretrained_vectors_are_used_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text("2 6\na 1 2 3 4 5 6\nzebra 0 0 0 0 0 0\n", encoding="utf-8")
    model = build(spec(encoder={"size": 8, "embedding": 6, "vectors": str(file), "freeze_vectors": True}))
    column: Any = model.columns["source"]
    encoder: Any = model.network.encoders["source"]
    known = encoder.embedding.weight[column.vocabulary.id("a")]
    assert known.tolist() == [1, 2, 3, 4, 5, 6]
    assert not encoder.embedding.weight.requires_grad
    file.unlink()  # a saved model no longer needs the file
    model.save(tmp_path / "model")
    loaded: Any = regard.load(tmp_path / "model", device="cpu").network.encoders["source"]
    assert torch.equal(loaded.embedding.weight, encoder.embedding.weight)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a 1 2 3\n", "vectors.txt:1: expected 6 numbers after the unit, received 3"),
        ("a 1 2 3 4 5 x\n", "not all cells after the unit are numbers"),
        ("zebra 1 2 3 4 5 6\n", "none of the 8 units of source has a vector here"),
    ],
)
def test_bad_vector_files_are_told_with_their_line(text: str, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(RegardError) as caught:
        build(spec(encoder={"size": 8, "embedding": 6, "vectors": str(file)}))
    assert expected in str(caught.value)
