"""The optimisers, fused where the device has a fused kernel, and their steps."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from regard.errors import RegardError
from regard.private import fused_adam, fused_adamw
from regard.spec.training import TrainingSpec

FUSED = {"cpu", "cuda"}


def make_optimizer(network: nn.Module, options: TrainingSpec) -> Optimizer:
    """Over all parameters that want a gradient. `adam` adds the decay to the gradient, `adamw` to the step."""
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise RegardError("the network has no parameters to train: all are frozen.", where="training")
    fused = all(parameter.device.type in FUSED and parameter.is_floating_point() for parameter in parameters)
    decay = options.weight_decay
    if options.optimizer == "sgd":
        return SGD(parameters, lr=options.lr, momentum=options.momentum, weight_decay=decay, fused=fused)
    kind = AdamW if options.optimizer == "adamw" else Adam
    return kind(parameters, lr=options.lr, betas=options.betas, weight_decay=decay, fused=fused)


class Descent:
    """Clips the gradients and takes the optimizer's step."""

    def __init__(self, optimizer: Optimizer, clip: float) -> None:
        self.optimizer, self.clip = optimizer, clip
        self.parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        self.quick = self.parameters[0].is_cuda and suits_quick_steps(optimizer)

    def __call__(self) -> Tensor:
        """Scales all gradients together to the norm `clip` where they are longer, and takes a step; the norm before."""
        if self.quick and self.optimizer.state and all(one.grad is not None for one in self.parameters):
            return quick_step(self.optimizer, self.clip)
        norm = nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return norm

    def forget(self) -> None:
        """The gradients."""
        for parameter in self.parameters:
            parameter.grad = None


def suits_quick_steps(optimizer: Optimizer) -> bool:
    return (
        type(optimizer) in (Adam, AdamW)
        and fused_adam is not None
        and fused_adamw is not None
        and len(optimizer.param_groups) == 1
        and bool(optimizer.param_groups[0]["fused"])
        and len({(one.device, one.dtype) for one in optimizer.param_groups[0]["params"]}) == 1
    )


def quick_step(optimizer: Optimizer, clip: float) -> Tensor:
    """The same of Adam and AdamW, once they have taken a step: this one scales the gradients as it reads them, and asks
    little of the host, which on CUDA is soon slower than the device."""
    (group,) = optimizer.param_groups
    parameters = group["params"]
    gradients = [parameter.grad for parameter in parameters]
    states = [optimizer.state[parameter] for parameter in parameters]
    firsts, seconds, steps = ([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq", "step"))
    with torch.no_grad():
        norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        torch._foreach_add_(steps, 1)
        step = fused_adamw if isinstance(optimizer, AdamW) else fused_adam
        assert step is not None
        step(
            parameters, gradients, firsts, seconds, [], steps,
            lr=group["lr"], beta1=group["betas"][0], beta2=group["betas"][1], weight_decay=group["weight_decay"],
            eps=group["eps"], amsgrad=False, maximize=False,
            grad_scale=None if clip == float("inf") else ((norm + 1e-6) / clip).clamp(min=1.0), found_inf=None,
        )  # fmt: skip
    return norm
