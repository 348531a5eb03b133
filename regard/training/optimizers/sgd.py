"""Stochastic gradient descent, with momentum if wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.parts import Share, register
from regard.training.optimizers.optimizer import OptimizerPart, fused

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


@register("optimizer", "sgd")
class SGDPart(OptimizerPart):
    """Stochastic gradient descent; weight decay is added to the gradient."""

    class Options(OptimizerPart.DecayOptions):
        """Stochastic gradient descent; weight decay is added to the gradient."""

        momentum: Share = 0.0
        """Share of the previous step that is added to the next."""

    @classmethod
    def make(cls, options: Any, parameters: Sequence[nn.Parameter], lr: float) -> Optimizer:
        from torch.optim import SGD

        momentum, decay = options.momentum, options.weight_decay
        return SGD(parameters, lr=lr, momentum=momentum, weight_decay=decay, fused=fused(parameters))
