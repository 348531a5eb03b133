"""Checkpoints round-trip, and partially written ones are refused."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from regard.errors import RegardError
from regard.training import Generators, checkpoint, seed_everything

from .tiny import TinyNetwork, train


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


@pytest.mark.parametrize("content", [b"", b"\0" * 40, b"\xff" * 400, (2**40).to_bytes(8, "little") + b"{}"])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(RegardError, match=r"x.safetensors: this checkpoint cannot be read"):
        checkpoint.read(tmp_path / "x.safetensors")


def test_a_checkpoint_of_other_contents_is_no_traceback(tmp_path: Path) -> None:
    train(tmp_path, steps=4, checkpoint_every=2, evaluate_every=2)
    tensors, values = checkpoint.read(tmp_path / checkpoint.STATE)
    for change in ({"position": {"step": "x", "other": 1}}, {"snapshots": 3}, {"generators": [{}]}):
        checkpoint.write(tmp_path / checkpoint.STATE, tensors, {**values, **change})
        with pytest.raises(RegardError, match="this version of regard cannot resume this checkpoint"):
            train(tmp_path, resume=True, steps=6)


def test_weights_that_are_not_finite_make_no_checkpoint(tmp_path: Path) -> None:
    network = TinyNetwork()
    train(tmp_path, network=network, steps=2, checkpoint_every=2)
    good = (tmp_path / checkpoint.STATE).read_bytes()

    def poison() -> None:
        with torch.no_grad():
            buffers = [one for one in network.state_dict().values() if one.is_floating_point()]
            buffers[-1].view(-1)[0] = float("inf")

    with pytest.raises(RegardError, match=r"not finite|not a finite"):
        train(tmp_path, network=network, resume=True, steps=8, checkpoint_every=4, at_batch={1: poison})
    assert (tmp_path / checkpoint.STATE).read_bytes() == good
