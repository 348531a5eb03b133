"""The optimisers, fused where the device has a fused kernel."""

from __future__ import annotations

from torch import nn
from torch.optim import SGD, Adam, AdamW, Optimizer

from regard.errors import RegardError
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
