"""The two selections with independent parts, in the interface of structures."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.base import Backend, Structure, logistic_noise
from regard.structures.potentials import (
    Lengths,
    Mask,
    Scores,
    apply_mask,
    as_floats,
    as_lengths,
    check_axes,
    expand_batch,
    joint_batch,
    shape_of,
)
from regard.structures.ragged import before_end, or_empty
from regard.structures.semirings import NEGATIVE_INFINITY, Semiring


class _Positions(Structure):
    """Scores (..., S) over positions, of which the first `lengths` count.

    scores[..., s]   the score of choosing position s
    lengths          (...,) the number of positions
    mask             broadcastable to scores, True where a position may be chosen
    """

    def __init__(
        self,
        scores: Scores,
        *,
        lengths: Lengths = None,
        mask: Mask | None = None,
        backend: Backend = "auto",
    ) -> None:
        (potential,) = as_floats(scores=scores)
        check_axes("scores", potential, "S", [None])
        potential = apply_mask(potential, mask, 1)
        size = potential.shape[-1]
        self.lengths = as_lengths(lengths, size, potential.device)
        batch = joint_batch(scores=potential.shape[:-1], lengths=shape_of(self.lengths))
        inside = before_end(self.lengths, size, potential.device)
        potential = torch.where(inside, potential, NEGATIVE_INFINITY)
        super().__init__(
            [expand_batch(potential, batch, 1)], batch, [1], lengths=(self.lengths,), backend=backend
        )


class Categorical(_Positions):
    """One position of S: p(z = s) ∝ exp scores[..., s]; a value is one-hot, empty for length 0. O(S)."""

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        (scores,) = parts
        if scores.shape[-1] == 0:
            return semiring.one(scores, 1)
        return or_empty(semiring, self.lengths, semiring.sum(scores, -1))


class Bernoulli(_Positions):
    """Any subset of S independent positions: p(s ∈ z) = σ(scores[..., s]); a value is 0/1. O(S)."""

    def _inside(self, semiring: Semiring, *parts: Tensor) -> Tensor:
        (scores,) = parts
        return semiring.product(semiring.plus(semiring.ones_like(scores), scores))

    def _perturbation(self, like: Tensor, generator: torch.Generator | None) -> Tensor:
        return logistic_noise(like, generator)
