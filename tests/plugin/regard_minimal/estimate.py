"""The marginals and the best structure, half each."""

from __future__ import annotations

from torch import Tensor

import regard
from regard.parts import Share


@regard.register("estimate", "between")
class Between(regard.nn.StructureEstimate):
    class Options(regard.nn.StructureEstimate.Options):
        """A mean of the best structure and of all structures by their probability."""

        share: Share = 0.5
        """The share of the best structure."""

    found = "mean"
    note = "the best structure and the marginals, mixed"

    def __init__(self, warmup: int = 0, share: float = 0.5) -> None:
        super().__init__(warmup)
        self.share = share

    def weights(self, latent: regard.nn.Latent, scores: Tensor) -> Tensor:
        marginals = latent.weights(latent.structure(scores).marginals)
        return self.share * latent.best(scores) + (1 - self.share) * marginals
