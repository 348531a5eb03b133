"""Segmental attention that reads an estimate of the segments instead of their marginals (`regard.nn.estimates`)."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from regard.nn.estimates.estimate import EstimateName, Latent, estimate_class, make_estimate
from regard.nn.precision import at_least_single
from regard.nn.selections.segments import Segmental
from regard.nn.selections.selection import NOTHING, Given
from regard.nn.symbols import LookSymbols


class EstimatedSegments(Segmental):
    """A class of its own: kernels compute the marginals, and leave a selection with another `forward` alone."""

    def __init__(
        self, *, estimate: EstimateName, warmup: int = 0, normalize: float = 2.0, decay: float = 0.005
    ) -> None:
        super().__init__(normalize=normalize, decay=decay)
        self.estimate = make_estimate(estimate, warmup)

    def forward(self, scores: Tensor, mask: Tensor, given: Given = NOTHING) -> Tensor:
        scores = at_least_single(scores)
        if self.estimate is None:
            return self.structure(scores, mask).marginals
        latent = Latent(
            structure=lambda scores: self.structure(scores, mask),
            weights=lambda value: value,
            score=lambda scores, segments: self.structure(scores, mask).score(segments),
            dims=1,
            parameters=(self.transitions,),
        )
        found: Tensor = self.estimate(latent, scores)
        return found

    def reading(self, weights: Tensor) -> Tensor:
        """w / γ with γ = max(Σ w, 1) / λ: a segmentation may have no position inside, and then reads nothing."""
        if not self.normalize:
            return weights
        return weights / (weights.sum(-1, keepdim=True).clamp(min=1.0) / self.normalize)


def estimate_lines(options: Any, look: LookSymbols, z: str, score: str) -> list[str]:
    """The equations of the weights, from the scores ψ(z) of segmentations."""
    chosen, found = estimate_class(options.estimate), look.sub("ω", look.step)
    if chosen.found == "mean":
        how = f"{found} = sparsemap_{z}({score}({z}))     — {chosen.note}"
        return [how, f"{look.weight} = {found}[{look.index}]"]
    return [
        f"{found} = argmax_{z}({score}({z}))     — the best segmentation",
        f"{look.weight} = {look.sub('ω', look.step, look.index)}     — {chosen.note}",
    ]
