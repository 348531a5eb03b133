"""Adam (Kingma and Ba 2015): steps of the running mean of the gradient over the root of that of its square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from regard.parts import Share, register
from regard.training.optimizers.optimizer import OptimizerPart, fused

if TYPE_CHECKING:
    from torch import nn
    from torch.optim import Optimizer


@register("optimizer", "adam")
class AdamPart(OptimizerPart):
    """Adam; weight decay is added to the gradient."""

    class Options(OptimizerPart.DecayOptions):
        """Adam; weight decay is added to the gradient."""

        betas: tuple[Share, Share] = (0.9, 0.999)
        """Decay rates of the running means of the gradient and of its square."""

    @classmethod
    def make(cls, options: Any, parameters: Sequence[nn.Parameter], lr: float) -> Optimizer:
        from torch.optim import Adam

        decay = options.weight_decay
        return Adam(parameters, lr=lr, betas=options.betas, weight_decay=decay, fused=fused(parameters))
