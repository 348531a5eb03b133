"""Perturb-and-MAP: the best structure after independent Gumbel noise on every part (Papandreou and Yuille 2011).

    weights = argmax_z [ score(z) + Σ_{part ∈ z} γ_part ],   γ ~ Gumbel

In training the network sees a different structure every time. The distribution of these structures is not that of the
exact samples: noise on parts is not noise on structures (Hazan and Jaakkola 2012). The gradient is straight-through,
of the marginals of the same perturbed scores (`Structure.rsample`). Without training there is no noise.
"""

from __future__ import annotations

from torch import Tensor

from regard.nn.estimates.estimate import Latent, StructureEstimate
from regard.parts import register


@register("estimate", "perturbed")
class Perturbed(StructureEstimate):
    """The best structure of perturbed scores."""

    class Options(StructureEstimate.Options):
        """The best structure after Gumbel noise on every part."""

    note = "in training after Gumbel noise on every energy, backward as if it were the marginals"

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        if not self.training:
            return latent.best(scores)
        return latent.weights(latent.structure(scores).rsample()) + latent.spoiled(scores.detach())
