"""What is written comes back, and what is half written does not."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.training import Generators, checkpoint, seed_everything


def draw() -> tuple[float, float, float, float]:
    return random.gauss(0, 1), random.random(), float(np.random.randn()), float(torch.rand(()))


def test_generators_go_on_where_they_were(tmp_path: Path) -> None:
    seed_everything(3)
    draw()
    generators = Generators.capture()
    expected = draw(), draw()
    checkpoint.write(tmp_path / "file.safetensors", generators.tensors, generators.values)
    tensors, values = checkpoint.read(tmp_path / "file.safetensors")
    seed_everything(99)
    Generators(values, tensors).restore()
    assert (draw(), draw()) == expected


def test_a_seed_decides_everything() -> None:
    seed_everything(7)
    first = draw()
    seed_everything(7)
    assert draw() == first
    seed_everything(8)
    assert draw() != first


def test_tied_weights_are_written_and_tie_again(tmp_path: Path) -> None:
    shared = torch.arange(6.0).reshape(2, 3)
    checkpoint.write(tmp_path / "file", {"one": shared, "two": shared, "row": shared[1]}, {"step": 4})
    tensors, values = checkpoint.read(tmp_path / "file")
    assert torch.equal(tensors["one"], shared) and torch.equal(tensors["two"], shared)
    assert torch.equal(tensors["row"], shared[1]) and values == {"step": 4}


def test_a_writer_that_dies_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    checkpoint.write(path, {"x": torch.zeros(3)}, {"step": 1})

    def die(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", die)
        with pytest.raises(KeyboardInterrupt):
            checkpoint.write(path, {"x": torch.ones(3)}, {"step": 2})
    tensors, values = checkpoint.read(path)
    assert values == {"step": 1} and torch.equal(tensors["x"], torch.zeros(3))
    checkpoint.write(path, {"x": torch.ones(3)}, {"step": 3})
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.SGD])
def test_an_optimiser_comes_back(tmp_path: Path, kind: type[torch.optim.Optimizer]) -> None:
    def steps(optimizer: torch.optim.Optimizer, weight: torch.Tensor, count: int) -> None:
        for _ in range(count):
            optimizer.zero_grad()
            (weight**3).sum().backward()
            optimizer.step()

    options = {"lr": 0.1} | ({"momentum": 0.9} if kind is torch.optim.SGD else {})
    weight = torch.nn.Parameter(torch.ones(3))
    optimizer = kind([weight], **options)
    steps(optimizer, weight, 2)
    copy = torch.nn.Parameter(weight.detach().clone())
    other = kind([copy], **options)
    checkpoint.write(tmp_path / "file", *checkpoint.pack_optimizer(optimizer))
    checkpoint.unpack_optimizer(other, *checkpoint.read(tmp_path / "file"))
    steps(optimizer, weight, 2)
    steps(other, copy, 2)
    assert torch.equal(weight, copy)
