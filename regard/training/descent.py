"""An update of the weights: clipping, the step of the optimizer, and the average."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn
from torch.optim import Optimizer

from regard.nn.path import faster
from regard.training.ema import MovingAverage


class QuickDescent(Protocol):
    """A faster way to do all of `Descent` in one step; the state stays in the optimizer."""

    def ready(self) -> bool:
        """Whether it can take the next step."""

    def __call__(self, clip: float, step: int) -> Tensor:
        """As `Descent`."""


class Descent:
    """Clips the gradients, takes the optimizer's step, and averages the weights."""

    def __init__(self, optimizer: Optimizer, clip: float, average: MovingAverage | None = None) -> None:
        self.optimizer, self.clip, self.average = optimizer, clip, average
        self.parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.quick: QuickDescent | None = faster(
            "optimizer.steps", self.parameters[0].device, optimizer, average
        )

    def __call__(self, step: int) -> Tensor:
        """Clip the gradients to the norm `clip` and make update `step` = 1, 2, …; returns the norm before."""
        if self.quick is not None and self.quick.ready():
            return self.quick(self.clip, step)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        self.keep_average(step)
        return norm

    def keep_average(self, step: int) -> None:
        if self.average is not None:
            self.average.update(step)

    def forget(self) -> None:
        """Release the gradients."""
        for parameter in self.parameters:
            parameter.grad = None
