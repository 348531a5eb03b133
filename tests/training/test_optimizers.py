"""Optimizers are parts: ours are torch's, and one of another package resumes exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import regard
from regard.errors import RegardError
from regard.parts import names, registry
from regard.spec import TrainingSpec
from regard.training.optimizers import OptimizerPart, make_optimizer

from .tiny import train


class Heavy(torch.optim.Optimizer):
    """w ← w − η m, with a mean that depends on the number of steps."""

    def __init__(self, parameters: Sequence[Any], lr: float, beta: float) -> None:
        super().__init__(parameters, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                state["taken"] = state.get("taken", 0) + 1
                mean = state.setdefault("mean", torch.zeros_like(weight))
                mean.mul_(group["beta"]).add_(weight.grad)
                weight.add_(mean, alpha=-group["lr"] / state["taken"])


@pytest.fixture
def heavy() -> Iterator[None]:
    names("optimizer")

    @regard.register("optimizer", "heavy")
    class HeavyPart(OptimizerPart):
        class Options(OptimizerPart.Options):
            beta: float = 0.5

        @classmethod
        def make(cls, options: Any, parameters: Sequence[Any], lr: float) -> torch.optim.Optimizer:
            return Heavy(parameters, lr, options.beta)

    yield
    del registry.PARTS["optimizer"]["heavy"]


def test_a_foreign_optimizer_resumes_exactly(heavy: None, tmp_path: Path) -> None:
    options = {"optimizer": "heavy", "beta": 0.8, "lr": 0.1, "checkpoint_every": 5}
    train(tmp_path / "whole", steps=12, **options)
    train(tmp_path / "halves", steps=5, **options)
    train(tmp_path / "halves", steps=12, resume=True, **options)
    whole, halves = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "halves"))
    assert all(torch.equal(whole[name], halves[name]) for name in whole)


@pytest.mark.parametrize(
    ("written", "kind", "expected"),
    [
        ({}, torch.optim.Adam, {"betas": (0.9, 0.999), "weight_decay": 0.0}),
        ({"optimizer": "adamw", "weight_decay": 0.01}, torch.optim.AdamW, {"weight_decay": 0.01}),
        ({"optimizer": {"type": "adamw", "betas": [0.8, 0.9]}}, torch.optim.AdamW, {"betas": (0.8, 0.9)}),
        ({"optimizer": "sgd", "momentum": 0.5}, torch.optim.SGD, {"momentum": 0.5, "weight_decay": 0.0}),
    ],
    ids=str,
)
def test_ours_are_those_of_torch(written: Any, kind: type, expected: dict[str, Any]) -> None:
    spec = TrainingSpec(lr=0.25, **written)
    made = make_optimizer(torch.nn.Linear(2, 2), spec.optimizer, spec.lr)
    assert type(made) is kind
    assert {name: made.defaults[name] for name in expected} == expected and made.defaults["lr"] == 0.25


def test_a_frozen_network_is_refused() -> None:
    network = torch.nn.Linear(2, 2).requires_grad_(False)
    with pytest.raises(RegardError, match="no parameters to train"):
        make_optimizer(network, TrainingSpec().optimizer, 0.1)
