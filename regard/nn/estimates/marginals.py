"""The marginals: every structure, by its probability. The gradient is exact."""

from __future__ import annotations

from torch import Tensor

from regard.nn.estimates.estimate import Latent, StructureEstimate
from regard.parts import register


@register("estimate", "marginals")
class Marginals(StructureEstimate):
    """p(part ∈ z). Selections compute them by kernels of their own."""

    class Options(StructureEstimate.Options):
        """All structures, by their probability."""

    found = "mean"
    plain = True

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        return latent.weights(latent.structure(scores).marginals)
