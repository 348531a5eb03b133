"""Adam without its first correction, written out: an optimizer with a state of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

import regard
from regard.parts import Share


class Scaled(torch.optim.Optimizer):
    """v ← β v + (1 − β) g²;  w ← w − η g / √(v / (1 − βᵗ))"""

    def __init__(self, parameters: Sequence[torch.nn.Parameter], lr: float, beta: float) -> None:
        super().__init__(parameters, {"lr": lr, "beta": beta})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                state["taken"] = state.get("taken", 0) + 1  # a plain number beside a tensor
                square = state.setdefault("square", torch.zeros_like(weight))
                square.mul_(group["beta"]).addcmul_(weight.grad, weight.grad, value=1 - group["beta"])
                root = (square / (1 - group["beta"] ** state["taken"])).sqrt().add_(1e-8)
                weight.addcdiv_(weight.grad, root, value=-group["lr"])


@regard.register("optimizer", "scaled")
class ScaledPart(regard.training.OptimizerPart):
    class Options(regard.training.OptimizerPart.Options):
        """Steps of the gradient, divided by its root mean square."""

        beta: Share = 0.99
        """Decay rate of the mean of the squares."""

    @classmethod
    def make(cls, options: Any, parameters: Sequence[torch.nn.Parameter], lr: float) -> torch.optim.Optimizer:
        return Scaled(parameters, lr, options.beta)

    @classmethod
    def described(cls, options: Any) -> str:
        return f"gradients scaled with β = {options.beta:g}"
