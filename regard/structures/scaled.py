"""A step of a chain as a matrix product of scaled exponentials, with a check of their range."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.structures.semirings import NEGATIVE_INFINITY


class OutOfRange(ArithmeticError):
    """The range of scaled exponentials does not suffice: the sum must be computed in the log domain."""


class ScaledTransitions:
    """exp transitions as a matrix with scaled columns, or as the product of two non-negative factors.

    given   [transitions (..., S, S)]; or [left (..., S, R), right (..., R, S)], with product exp transitions
    """

    def __init__(self, given: Sequence[Tensor]) -> None:
        self.given = given
        if len(given) == 1:
            highest = given[0].detach().amax(-2, keepdim=True)  # (..., 1, S): by column
            highest = torch.where(highest == NEGATIVE_INFINITY, 0.0, highest)
            self.matrices: Sequence[Tensor] = [(given[0] - highest).exp()]
            self.log_scale = highest.squeeze(-2)
        else:
            self.matrices, self.log_scale = given, given[0].new_zeros(())

    def log(self) -> Tensor:
        """The transitions multiplied out, (..., S, S), −inf where the product is 0."""
        if len(self.given) == 1:
            return self.given[0]
        product = self.given[0] @ self.given[1]
        some = product != 0  # also true for NaN
        return torch.where(some, torch.where(some, product, 1.0).log(), NEGATIVE_INFINITY)

    def step(self, prefix: Tensor) -> Tensor:
        """log Σ_i exp(prefix[..., i] + transitions[..., i, j]), (..., S); OutOfRange if a sum is too small.

        All terms are at most 1 after scaling. A term that underflows is lost, which has no effect if the sum
        is so large that the term would not change its last digit.
        """
        highest = prefix.detach().amax(-1, keepdim=True)
        highest = torch.where(highest == NEGATIVE_INFINITY, 0.0, highest)
        total = self._through((prefix - highest).exp(), self.matrices)
        limits = torch.finfo(prefix.dtype)
        doubtful = total.detach() < limits.tiny * prefix.shape[-1] / limits.eps
        if bool(doubtful.any()) and bool((doubtful & self._reachable(prefix)).any()):
            raise OutOfRange
        some = total != 0  # also true for NaN
        return torch.where(
            some, torch.where(some, total, 1.0).log() + highest + self.log_scale, NEGATIVE_INFINITY
        )

    def _reachable(self, prefix: Tensor) -> Tensor:
        """Where the exact sum is not zero."""
        if len(self.given) == 1:
            possible = [self.given[0].detach() > NEGATIVE_INFINITY]
        else:
            possible = [factor.detach() > 0 for factor in self.given]
        dtype = prefix.dtype
        ways = self._through((prefix.detach() > NEGATIVE_INFINITY).to(dtype), [x.to(dtype) for x in possible])
        return ways > 0

    @staticmethod
    def _through(row: Tensor, matrices: Sequence[Tensor]) -> Tensor:
        """Rows (..., S) times matrices; a single product if the batch shares the matrices."""
        for matrix in matrices:
            row = row @ matrix if matrix.dim() == 2 else (row.unsqueeze(-2) @ matrix).squeeze(-2)
        return row
