"""Hard EM with a linear E-step: the network reads the best structure; the scores learn the one that the loss prefers.

The model is p(y | x) = Σ_z p(z | x) p(y | x, z), with z latent and p(z | x) ∝ exp score(z). One update is one step of
generalized, hard EM:

    forward   z* = argmax_z score(z); the network reads z* and computes ℓ(z*) = −log p(y | x, z*)
    E-step    ẑ = argmax_z [ score(z) − g · z ],  g = ∂ℓ/∂z at z*: the posterior mode, with ℓ linear around z*
    M-step    one step of gradient on ℓ(z*) − log p(ẑ | x)

No gradient passes through the choice of z*: the scores receive ∂(−log p(ẑ | x)) = marginals − ẑ. The exact E-step
needs ℓ of every structure, which no network with attention can give at once; where ℓ is linear in z, this one is exact.
A loss is taken to be a mean over the structures of a batch: g is multiplied by their number, the M-step divided by it.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.nn.estimates.estimate import Latent, StructureEstimate
from regard.parts import register


@register("estimate", "em")
class ExpectationMaximization(StructureEstimate):
    """z*, whose scores learn the posterior mode."""

    class Options(StructureEstimate.Options):
        """The best structure, and scores learn the one that the loss prefers (hard EM)."""

    note = "in training the scores learn what the loss prefers: hard EM"

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        if not (self.training and torch.is_grad_enabled()):
            return latent.best(scores)
        found: Tensor = _Chosen.apply(latent, scores, *latent.parameters)  # type: ignore[no-untyped-call]
        return found


class _Chosen(torch.autograd.Function):
    """The best structure; backward the M-step."""

    @staticmethod
    def forward(ctx: Any, latent: Latent, scores: Tensor, *parameters: Tensor) -> Tensor:
        ctx.latent = latent
        ctx.save_for_backward(scores)
        return latent.best(scores)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        latent, (scores,), (gradient,) = ctx.latent, ctx.saved_tensors, gradients
        count = scores.shape[: scores.ndim - latent.dims].numel()
        preferred = latent.weights(latent.structure(scores - count * gradient.to(scores.dtype)).mode)
        with torch.enable_grad():
            learning = scores.detach().requires_grad_()
            cost = latent.structure(learning).log_partition - latent.score(learning, preferred)
            wanted = [learning, *(one for one in latent.parameters if one.requires_grad)]
            found = iter(torch.autograd.grad(cost.sum() / count, wanted, allow_unused=True))
        mine = next(found)
        return None, mine, *(next(found) if one.requires_grad else None for one in latent.parameters)
