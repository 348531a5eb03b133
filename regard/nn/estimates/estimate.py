"""The base of estimates, and what they need to know of a structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal

import torch
from torch import Tensor, nn

from regard.structures import Structure

EstimateName = Literal["marginals", "straight-through", "perturbed", "sparsemap", "em"]
"""What stands for a latent structure."""
MODULES = {
    "straight-through": ("straight_through", "StraightThrough"),
    "perturbed": ("perturbed", "Perturbed"),
    "sparsemap": ("sparsemap", "SparseMAP"),
    "em": ("em", "ExpectationMaximization"),
}
"""The file and the class of each estimate."""


@dataclass(frozen=True)
class Latent:
    """A structure behind weights of attention, as functions of its scores (B, T, S).

    structure    the distribution
    weights      a value of the distribution, or its marginals, as weights (…, B, T, S)
    score        scores and weights (…, B, T, S) of structures → their scores (…, B) or (…, B, T), differentiable
    dims         how many of the last dimensions are one structure: 1 for each query, 2 for all queries together
    parameters   what the distribution depends on beside the scores
    """

    structure: Callable[[Tensor], Structure]
    weights: Callable[[Tensor], Tensor]
    score: Callable[[Tensor, Tensor], Tensor]
    dims: int
    parameters: Sequence[Tensor] = ()

    def best(self, scores: Tensor) -> Tensor:
        """The weights of the best structure, without gradient; NaN where a score of the structure is NaN."""
        scores = scores.detach()
        return self.weights(self.structure(scores).mode) + self.spoiled(scores)

    def spoiled(self, scores: Tensor) -> Tensor:
        """NaN for the structures that have a score of NaN, else 0; (B, T, S) or with dimensions of 1."""
        dims = tuple(range(-self.dims, 0))
        return torch.where(scores.isnan().any(dims, keepdim=True), torch.nan, 0.0).to(scores.dtype)


class StructureEstimate(nn.Module):
    """Scores of a latent structure → weights (B, T, S). To add an estimate, write `weights`.

    found   what it finds: the "best" structure, or a "mean" of several
    note    how equations say what they do not: its gradient, or its condition

    warmup  number of batches of training that read the marginals first
    """

    found = "best"
    note = ""
    seen: Tensor

    def __init__(self, warmup: int = 0) -> None:
        super().__init__()
        self.warmup = warmup
        if warmup:  # a buffer, so that a resumed run continues from its count
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    def forward(self, latent: Latent, scores: Tensor) -> Tensor:
        if self.warmup and self.training:
            early = int(self.seen) < self.warmup
            self.seen += 1
            if early:
                return latent.weights(latent.structure(scores).marginals)
        return self.weights(latent, scores)

    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        """(B, T, S), with the gradient of the estimate if it is in training."""
        raise NotImplementedError


def make_estimate(name: EstimateName, warmup: int = 0) -> StructureEstimate | None:
    """The estimate of that name; None for marginals, which a selection computes itself."""
    return None if name == "marginals" else estimate_class(name)(warmup)


def estimate_class(name: EstimateName) -> type[StructureEstimate]:
    file, owner = MODULES[name]
    found: type[StructureEstimate] = getattr(import_module(f"regard.nn.estimates.{file}"), owner)
    return found
