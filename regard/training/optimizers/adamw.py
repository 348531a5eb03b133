"""AdamW (Loshchilov and Hutter 2019): Adam whose weight decay does not pass through the running means."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.parts import Share, register
from regard.training.optimizers.optimizer import OptimizerPart, fused

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


@register("optimizer", "adamw")
class AdamWPart(OptimizerPart):
    """Adam; weight decay is applied to the weights."""

    class Options(OptimizerPart.DecayOptions):
        """Adam; weight decay is applied to the weights."""

        betas: tuple[Share, Share] = (0.9, 0.999)
        """Decay rates of the running means of the gradient and of its square."""

    @classmethod
    def make(cls, options: Any, parameters: Sequence[nn.Parameter], lr: float) -> Optimizer:
        from torch.optim import AdamW

        decay = options.weight_decay
        return AdamW(parameters, lr=lr, betas=options.betas, weight_decay=decay, fused=fused(parameters))
