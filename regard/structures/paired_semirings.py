"""Semirings whose elements are pairs or triples, in a leading axis: a weight and accompanying values."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from regard.structures.semirings import NEGATIVE_INFINITY, Semiring, logsumexp, softmax_weights, take


class _Additive(Semiring):
    """Elements with a log weight and other components in a leading axis; products add every component."""

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def ones_like(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)


class ExpectationSemiring(_Additive):
    """(log w, mean): the total weight, and the weighted mean of the sum of `weights[part]` over parts.

    The mean is in the linear domain, where it is bounded by the largest sum, can be negative, and is
    differentiable at zero.
    """

    def __init__(self, index: int, weights: Tensor) -> None:
        self.index, self.weights = index, weights

    def lift(self, index: int, potential: Tensor) -> Tensor:
        weights = self.weights if index == self.index else torch.zeros_like(potential)
        return torch.stack(torch.broadcast_tensors(potential, weights))

    def sum(self, x: Tensor, dim: int) -> Tensor:
        log_weight, mean = x
        total = logsumexp(log_weight, dim)
        weights, _ = softmax_weights(log_weight, total, dim)
        return torch.stack([total, (weights * mean).sum(dim)])

    def goal(self, x: Tensor) -> Tensor:
        return torch.where(x[0] > NEGATIVE_INFINITY, x, self.zeros_like(x))

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.stack([torch.full_like(x[0], NEGATIVE_INFINITY), torch.zeros_like(x[1])])


class DivergenceSemiring(_Additive):
    """(log p, log q, d): two weightings of the same structures, and the divergence of the second from the first.

    d is E_p[−log q] (`relative=False`: cross-entropy; entropy when q is p) or E_p[log p − log q]
    (`relative=True`: Kullback-Leibler), where p and q are normalized within the cell. Differences are taken
    cell by cell, so large numbers are never subtracted from each other.
    """

    def __init__(self, other: Sequence[Tensor], *, relative: bool) -> None:
        self.other, self.relative = other, relative

    def lift(self, index: int, potential: Tensor) -> Tensor:
        p, q = torch.broadcast_tensors(potential, self.other[index])
        return torch.stack([p, q, torch.zeros_like(p)])

    def sum(self, x: Tensor, dim: int) -> Tensor:
        log_p, log_q, divergence = x
        total_p, total_q = logsumexp(log_p, dim), logsumexp(log_q, dim)
        weights, local_p = softmax_weights(log_p, total_p, dim)
        finite_q = torch.where(total_q == NEGATIVE_INFINITY, 0.0, total_q).unsqueeze(dim)
        terms = divergence - (log_q - finite_q)
        if self.relative:
            terms = terms + local_p
        terms = torch.where(weights > 0, terms, 0.0)
        return torch.stack([total_p, total_q, (weights * terms).sum(dim)])

    def goal(self, x: Tensor) -> Tensor:
        return torch.where(x[0] > NEGATIVE_INFINITY, x, self.zeros_like(x))

    def zeros_like(self, x: Tensor) -> Tensor:
        nothing = torch.full_like(x[0], NEGATIVE_INFINITY)
        return torch.stack([nothing, nothing, torch.zeros_like(x[2])])


class PartialSemiring(_Additive):
    """(required parts present, log weight): the largest number present wins, ties add their weights.

    If the final number present equals the number required, the log weight is that of the structures with
    every required part.
    """

    def __init__(self, index: int, required: Tensor) -> None:
        self.index, self.required = index, required

    def lift(self, index: int, potential: Tensor) -> Tensor:
        present = self.required.to(potential.dtype) if index == self.index else torch.zeros_like(potential)
        present, potential = torch.broadcast_tensors(present, potential)
        return torch.stack(
            [torch.where(potential == NEGATIVE_INFINITY, NEGATIVE_INFINITY, present), potential]
        )

    def sum(self, x: Tensor, dim: int) -> Tensor:
        present, log_weight = x
        most = present.amax(dim)
        leading = present == most.unsqueeze(dim)
        return torch.stack([most, logsumexp(torch.where(leading, log_weight, NEGATIVE_INFINITY), dim)])

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.full_like(x, NEGATIVE_INFINITY)


class ContainsSemiring(Semiring):
    """(best score without a part, best score with it); a second leading axis holds the requested parts."""

    def __init__(self, index: int, asked: Tensor) -> None:
        self.index, self.asked = (
            index,
            asked,
        )  # (requested parts, 1..., *own axes of the potential), one True in each

    def lift(self, index: int, potential: Tensor) -> Tensor:
        nowhere = self.asked.new_zeros(len(self.asked), *[1] * potential.dim())
        asked = self.asked if index == self.index else nowhere
        asked, potential = torch.broadcast_tensors(asked, potential.unsqueeze(0))
        without = torch.where(asked, NEGATIVE_INFINITY, potential)
        return torch.stack([without, torch.where(asked, potential, NEGATIVE_INFINITY)])

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([a[0] + b[0], torch.maximum(a[0] + b[1], a[1] + b[0])])

    def sum(self, x: Tensor, dim: int) -> Tensor:
        return take(x, x.detach().argmax(dim), dim)

    def ones_like(self, x: Tensor) -> Tensor:
        return torch.stack([torch.zeros_like(x[0]), torch.full_like(x[1], NEGATIVE_INFINITY)])

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.full_like(x, NEGATIVE_INFINITY)


class SignedLogSemiring(Semiring):
    """Real numbers x of either sign as (log |x|, sign x): products may be negative or exceed floats."""

    def __init__(self, index: int, factors: Tensor) -> None:
        self.index, self.factors = index, factors

    def lift(self, index: int, potential: Tensor) -> Tensor:
        factors = self.factors if index == self.index else torch.ones_like(potential)
        nonzero = factors != 0
        size = torch.where(nonzero, torch.where(nonzero, factors, 1.0).abs().log(), NEGATIVE_INFINITY)
        return torch.stack(torch.broadcast_tensors(potential + size, factors.sign()))

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        return torch.stack([a[0] + b[0], a[1] * b[1]])

    def sum(self, x: Tensor, dim: int) -> Tensor:
        size, sign = x
        highest = size.detach().amax(dim, keepdim=True)
        highest = torch.where(highest == NEGATIVE_INFINITY, 0.0, highest)
        total = (sign * (size - highest).exp()).sum(dim)
        some = total != 0
        log_total = torch.where(some, total, 1.0).abs().log() + highest.squeeze(dim)
        return torch.stack([torch.where(some, log_total, NEGATIVE_INFINITY), total.detach().sign()])

    def ones_like(self, x: Tensor) -> Tensor:
        return torch.stack([torch.zeros_like(x[0]), torch.ones_like(x[1])])

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.stack([torch.full_like(x[0], NEGATIVE_INFINITY), torch.zeros_like(x[1])])
