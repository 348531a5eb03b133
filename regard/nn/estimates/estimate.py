"""The base of estimates, and what they need to know of a structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from regard import parts
from regard.parts import one_of
from regard.parts.contract import base, optional, required
from regard.structures import Structure


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


@base("estimate", gives=("warmup",), spread=True, maker="make")
class StructureEstimate(nn.Module):
    """Scores of a latent structure → weights (B, T, S). To add an estimate, write `weights`.

    found   what it finds: the "best" structure, or a "mean" of several
    note    how equations say what they do not: its gradient, or its condition
    plain   whether it stands for the marginals, which a selection computes itself

    warmup  number of batches of training that read the marginals first
    """

    class Options(parts.Options):
        pass

    found: ClassVar[str] = "best"
    note: ClassVar[str] = ""
    plain: ClassVar[bool] = False
    seen: Tensor

    def __init__(self, warmup: int = 0) -> None:
        super().__init__()
        self.warmup = warmup
        if warmup:  # a buffer, so that a resumed run continues from its count
            self.register_buffer("seen", torch.zeros((), dtype=torch.int64))

    @classmethod
    @optional("when a model is built")
    def make(cls, options: Any, warmup: int = 0) -> Self:
        """The estimate of some options. By default they are keywords of the class."""
        return cls(warmup, **dict(options))

    @classmethod
    @optional("by `regard describe`")
    def function(cls, options: Any) -> str:
        """The name of the function from scores of structures to what it finds, in equations."""
        return "argmax" if cls.found == "best" else str(options.type).replace("-", "")

    def forward(self, latent: Latent, scores: Tensor) -> Tensor:
        if self.warmup and self.training:
            early = int(self.seen) < self.warmup
            self.seen += 1
            if early:
                return latent.weights(latent.structure(scores).marginals)
        return self.weights(latent, scores)

    @required("for every batch")
    def weights(self, latent: Latent, scores: Tensor) -> Tensor:
        """(B, T, S), with the gradient of the estimate if it is in training."""
        raise NotImplementedError


def estimate_options(estimate: Any) -> Any:
    """The options of an estimate that is given by its name, by a mapping, or as its options."""
    return one_of("estimate").validate(estimate)


def make_estimate(estimate: Any, warmup: int = 0) -> StructureEstimate | None:
    """The estimate of a name or of options; None for marginals, which a selection computes itself."""
    options = estimate_options(estimate)
    made: StructureEstimate | None = None if options.part.plain else options.part.make(options, warmup)
    return made
