"""The straight-through estimate: forward the best structure, backward the gradient of the marginals.

    weights = z* + m − stop(m),   z* = argmax_z score(z),   m = p(part ∈ z)

(Bengio, Léonard and Courville 2013, for a single unit.) The gradient is biased: it is that of a network that reads the
marginals, at a point where the network read z*.
"""

from __future__ import annotations

from torch import Tensor

from regard.nn.estimates.estimate import Latent, StructureEstimate
from regard.parts import register


@register("estimate", "straight-through")
class StraightThrough(StructureEstimate):
    """z* with the gradient of the marginals."""

    class Options(StructureEstimate.Options):
        """The best structure, with the gradient of the marginals."""

    note = "backward as if it were the marginals"

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        best = latent.best(scores)
        if not self.training:
            return best
        marginals = latent.weights(latent.structure(scores).marginals)
        return best + (marginals - marginals.detach())
