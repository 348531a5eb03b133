"""Steps of Adam and AdamW on CUDA in one kernel, with the clipping before and the average after."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from regard.nn.path import Path
from regard.parts import register
from regard.private import add_to_all, norm_of_all, step_hooks
from regard.structures.kernels.availability import triton_takes


@register("path", "adam-cuda")
class AdamOnCUDA(Path):
    """Clipping, a step of Adam or AdamW and the moving average in one kernel for CUDA."""

    serves = "optimizer.steps"
    devices = ("cuda",)
    rank = 20

    def takes(self, optimizer: Optimizer, average: Any = None) -> bool:
        return not self.why_not(optimizer, average) and triton_takes(optimizer.param_groups[0]["params"][0])

    def why_not(self, optimizer: Optimizer, average: Any = None) -> str:
        if type(optimizer) not in (Adam, AdamW):
            return "The optimizer is neither Adam nor AdamW."
        group = optimizer.param_groups[0]
        if len(optimizer.param_groups) > 1 or any(group.get(name) for name in ("amsgrad", "maximize")):
            return "The optimizer has several groups of weights, or options that the kernel does not know."
        devices = {parameter.device for parameter in group["params"]}
        return "" if len(devices) == 1 else "The weights are on several devices."

    def run(self, optimizer: Optimizer, average: Any = None) -> QuickAdam:
        return QuickAdam(optimizer, average)


class QuickAdam:
    """Steps of Adam and AdamW on CUDA in one kernel, with the clipping before and the average after. Separate
    kernels read the weights three times and need so much of the host that the device waits.

    The first step is the optimizer's own, because it creates the optimizer's state, in which the moments
    stay.
    """

    def __init__(self, optimizer: Optimizer, average: Any) -> None:
        self.optimizer, self.average = optimizer, average
        self.group = optimizer.param_groups[0]
        self.parameters: list[nn.Parameter] = self.group["params"]
        own = {id(parameter) for parameter in self.parameters}
        names = {} if average is None else {id(weight): name for name, weight in average.weights.items()}
        self.names = [names[id(one)] for one in self.parameters] if average is not None else []
        self.others = [name for place, name in names.items() if place not in own]
        self.tensors: Any = None
        self.steps: list[Tensor] = []
        self.taken = 0

    def ready(self) -> bool:
        """Whether every weight has a gradient and the same number of optimizer steps."""
        if "step" in vars(self.optimizer) or step_hooks(self.optimizer):
            self.tensors = None  # the steps that others take are counted anew
            return False
        if not self.optimizer.state or any(parameter.grad is None for parameter in self.parameters):
            return False
        first = self.optimizer.state[self.parameters[0]]["exp_avg"]
        if self.tensors is None or self.tensors.kept[1][0] is not first:  # another state was loaded
            self.tensors = self._tensors()
        return self.tensors is not None

    def __call__(self, clip: float, step: int) -> Tensor:
        from regard.fast.cuda import descent

        self.taken += 1
        gradients: list[Any] = [parameter.grad for parameter in self.parameters]
        group, share = self.group, 0.0 if self.average is None else self.average.share(step)
        adam = descent.Adam(
            rate=group["lr"],
            betas=group["betas"],
            epsilon=group["eps"],
            decay=group["weight_decay"],
            decoupled=isinstance(self.optimizer, AdamW),
            average=share,
        )
        with torch.no_grad():
            norm = norm_of_all(gradients)
            add_to_all(self.steps, 1)
            scale = ((norm + 1e-6) / clip).clamp(min=1.0)
            descent.descend(self.tensors, gradients, scale, self.taken, adam)
        if self.others and self.average is not None:
            self.average.update(step, self.others)
        return norm

    def _tensors(self) -> Any:
        from regard.fast.cuda.descent import Tensors

        states = [self.optimizer.state[parameter] for parameter in self.parameters]
        if any(len(state) != 3 for state in states):
            return None
        firsts, seconds, self.steps = (
            [state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step")
        )
        averages = None if self.average is None else [self.average.averages[name] for name in self.names]
        taken = set(torch.stack([one.to(firsts[0].device) for one in self.steps]).tolist())
        if len(taken) > 1 or not Tensors.suit([*self.parameters, *firsts, *seconds, *(averages or ())]):
            return None
        self.taken = int(taken.pop())
        return Tensors(self.parameters, firsts, seconds, averages)
