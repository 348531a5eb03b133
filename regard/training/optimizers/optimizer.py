"""The base class of optimizers: from options to an optimizer of torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.errors import RegardError
from regard.parts import NotNegative
from regard.parts import Options as PartOptions
from regard.parts.contract import base, optional, required

if TYPE_CHECKING:  # a spec is read without torch
    from torch import nn
    from torch.optim import Optimizer

FUSED = {"cpu", "cuda"}
"""Devices on which torch has one kernel for a whole step."""


@base("optimizer")
class OptimizerPart(ABC):
    """Base class of optimizers. The learning rate is not an option: `training.lr` and the schedule give it."""

    class Options(PartOptions):
        pass

    class DecayOptions(Options):
        """Options of an optimizer with weight decay."""

        weight_decay: NotNegative = 0.0
        """Coefficient of weight decay."""

    @classmethod
    @abstractmethod
    @required("before the first update")
    def make(cls, options: Any, parameters: Sequence[nn.Parameter], lr: float) -> Optimizer:
        """The optimizer of some parameters, as torch's `Optimizer`. Its `state` is saved and resumed: tensors and plain
        numbers for each parameter."""

    @classmethod
    @optional("by `regard describe`")
    def described(cls, options: Any) -> str:
        """What `regard describe` writes before the learning rate."""
        return str(options.type)


def fused(parameters: Sequence[nn.Parameter]) -> bool:
    """Whether torch's fused kernels can update these parameters."""
    return all(one.device.type in FUSED and one.is_floating_point() for one in parameters)


def _without_decay(optimizer: Any) -> None:
    """Give the parameters that must not decay (`decays` is False), such as fixed vectors, a group without decay."""
    for group in list(getattr(optimizer, "param_groups", ())):
        kept = [one for one in group["params"] if not getattr(one, "decays", True)]
        if kept and group.get("weight_decay"):
            group["params"] = [one for one in group["params"] if getattr(one, "decays", True)]
            settings = {key: value for key, value in group.items() if key != "params"}
            optimizer.add_param_group({**settings, "params": kept, "weight_decay": 0.0})


def make_optimizer(network: nn.Module, options: Any, lr: float) -> Optimizer:
    """The optimizer of a network's parameters, from the options of an optimizer."""
    from torch.optim import Optimizer

    from regard.private import postpone_compiler

    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    if not parameters:
        raise RegardError("the network has no parameters to train: all are frozen.", where="training")
    postpone_compiler()
    made = options.part.make(options, parameters, lr)
    _without_decay(made)
    if not isinstance(made, Optimizer):
        told = f"make returned a {type(made).__name__}, expected a torch.optim.Optimizer"
        raise RegardError(f"the optimizer {options.type}: {told}.")
    return made
