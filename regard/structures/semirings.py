"""The algebras over which dynamic programs run: one program answers one query for each algebra.

A structure's program multiplies parts that occur together and sums over alternatives. Each semiring
interprets "product" and "sum" differently and so answers a different query:

    LogSemiring           log Σ exp score                       log_partition; its gradient is the marginals
    MaxSemiring           max score                             its gradient is the best structure
    KBestSemiring         the k largest scores                  the gradient of the i-th is the i-th best structure
    SamplingSemiring      log Σ exp score                       its "gradient" is an exact sample
    CountingSemiring      number of structures, modulo primes   count

and, in `paired_semirings.py`, semirings whose elements are pairs or triples:

    ExpectationSemiring   (log Σ exp score, E[Σ weight])        expectation
    DivergenceSemiring    (log p, log q, E_p[... log q])        entropy, cross_entropy, kl_divergence
    PartialSemiring       (required parts present, log weight)  log_prob, log_prob_partial
    ContainsSemiring      (best without a part, best with it)   max_marginals
    SignedLogSemiring     (log |x|, sign x)                     expected_product, with factors of either sign

An element is a tensor. Algebras with several components hold them in one or two leading axes, so a program
must index from the right only.

Zero weight is −inf. No operation here turns it into NaN, forward or backward, at any order of
differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

NEGATIVE_INFINITY = -torch.inf


def logsumexp(x: Tensor, dim: int) -> Tensor:
    """log Σ exp x along `dim`; its gradient is exactly zero at −inf, even if everything is −inf."""
    highest = x.detach().amax(dim, keepdim=True)
    highest = torch.where(highest == NEGATIVE_INFINITY, 0.0, highest)
    total = (x - highest).exp().sum(dim)
    some = total != 0  # also true for NaN
    return torch.where(some, torch.where(some, total, 1.0).log() + highest.squeeze(dim), NEGATIVE_INFINITY)


def softmax_weights(x: Tensor, log_total: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The weights exp(x − log_total) along `dim` and their logarithms, the latter 0 where a weight is 0."""
    total = torch.where(log_total == NEGATIVE_INFINITY, 0.0, log_total).unsqueeze(dim)
    weights = (x - total).exp()
    return weights, torch.where(weights > 0, x - total, 0.0)


class Semiring:
    """Operations of a dynamic program on elements. `dim` is negative: leading axes belong to the algebra."""

    deterministic = True

    def lift(self, index: int, potential: Tensor) -> Tensor:
        """The elements of the parts scored by the structure's potential number `index`."""
        raise NotImplementedError

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        raise NotImplementedError

    def sum(self, x: Tensor, dim: int) -> Tensor:
        raise NotImplementedError

    def plus(self, a: Tensor, b: Tensor) -> Tensor:
        return self.sum(torch.stack(torch.broadcast_tensors(a, b), -1), -1)

    def product(self, x: Tensor) -> Tensor:
        """The product along the last axis, in halves: log₂ n steps."""
        if x.shape[-1] == 0:
            return self.one(x, 1)
        while x.shape[-1] > 1:
            half = x.shape[-1] // 2
            paired = self.times(x[..., :half], x[..., half : 2 * half])
            x = torch.cat([paired, x[..., 2 * half :]], -1)
        return x.squeeze(-1)

    def one(self, parts: Tensor, event_dim: int) -> Tensor:
        """The empty product for each entry of the batch; the parts have `event_dim` trailing axes."""
        return self.ones_like(parts.new_zeros(parts.shape[: parts.dim() - event_dim]))

    def goal(self, x: Tensor) -> Tensor:
        """The program's result; zero weight gets neither a gradient nor a mean."""
        return x

    def ones_like(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def zeros_like(self, x: Tensor) -> Tensor:
        raise NotImplementedError


class LogSemiring(Semiring):
    """(logsumexp, +); the base class of algebras whose element is one log weight."""

    def lift(self, index: int, potential: Tensor) -> Tensor:
        return potential

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        return a + b

    def sum(self, x: Tensor, dim: int) -> Tensor:
        return logsumexp(x, dim)

    def goal(self, x: Tensor) -> Tensor:
        return torch.where(x != NEGATIVE_INFINITY, x, NEGATIVE_INFINITY)

    def ones_like(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.full_like(x, NEGATIVE_INFINITY)


def take(x: Tensor, index: Tensor, dim: int) -> Tensor:
    """x at one index along `dim`; only that entry gets a gradient, and none does if it is −inf.

    Following the gradient back from the goal therefore traces one structure, and none on an empty support.
    """
    taken = x.gather(dim, index.unsqueeze(dim)).squeeze(dim)
    return torch.where(taken != NEGATIVE_INFINITY, taken, NEGATIVE_INFINITY)


class MaxSemiring(LogSemiring):
    """(max, +), with ties broken, so that the gradient is always a single structure."""

    def sum(self, x: Tensor, dim: int) -> Tensor:
        return take(x, x.detach().argmax(dim), dim)


class SamplingSemiring(LogSemiring):
    """The log semiring with another gradient: each sum passes it to one term, drawn by its weight.

    A derivation visits a cell of the chart at most once. The cells draw independently in the forward pass, so
    the path that the backward pass follows from the goal is an exact ancestral sample.
    """

    deterministic = False

    def __init__(self, generator: torch.Generator | None = None) -> None:
        self.generator = generator

    def sum(self, x: Tensor, dim: int) -> Tensor:
        weights = x.detach()
        noise = torch.empty_like(weights).exponential_(generator=self.generator)
        chosen = take(x, (weights - noise.log()).argmax(dim), dim)
        # The value is the log of the sum, the gradient that of the chosen term; −inf − (−inf) must not occur.
        reachable = chosen.detach() > NEGATIVE_INFINITY
        through = torch.where(reachable, chosen, 0.0)
        return torch.where(
            reachable, logsumexp(weights, dim) + (through - through.detach()), NEGATIVE_INFINITY
        )


class KBestSemiring(Semiring):
    """The k largest scores in descending order along a leading axis, −inf if there are fewer.

    In a product of two sorted lists the pair (i, j), counted from 0, is beaten by at least (i+1)(j+1)−1
    others, so only pairs with (i+1)(j+1) ≤ k can count: k log k candidates instead of k².
    """

    def __init__(self, k: int) -> None:
        self.k = k
        pairs = [(i, j) for i in range(k) for j in range(k // (i + 1))]
        self.left, self.right = (torch.tensor(side) for side in zip(*pairs, strict=True))

    def _pad(self, x: Tensor) -> Tensor:
        return torch.cat([x.unsqueeze(0), x.new_full((self.k - 1, *x.shape), NEGATIVE_INFINITY)])

    def lift(self, index: int, potential: Tensor) -> Tensor:
        return self._pad(potential)

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        left, right = self.left.to(a.device), self.right.to(a.device)
        return (a[left] + b[right]).topk(self.k, 0).values

    def sum(self, x: Tensor, dim: int) -> Tensor:
        candidates = x.movedim(dim, 0).flatten(0, 1)  # (n k, ...)
        return candidates.topk(self.k, 0).values

    def ones_like(self, x: Tensor) -> Tensor:
        return self._pad(torch.zeros_like(x[0]))

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.full_like(x, NEGATIVE_INFINITY)


class CountingSemiring(Semiring):
    """(+, ×) on integers modulo several primes below 2³¹, one for each entry of the leading axis.

    Products of residues fit in 64 bits, and the Chinese remainder theorem recovers the exact number.
    """

    def __init__(self, primes: Sequence[int]) -> None:
        self.primes = torch.tensor(primes)

    def _modulus(self, x: Tensor) -> Tensor:
        return self.primes.to(x.device).view(-1, *[1] * (x.dim() - 1))

    def lift(self, index: int, potential: Tensor) -> Tensor:
        allowed = (potential > NEGATIVE_INFINITY).long()
        return allowed.expand(len(self.primes), *potential.shape)

    def times(self, a: Tensor, b: Tensor) -> Tensor:
        product = a * b
        return product % self._modulus(product)

    def sum(self, x: Tensor, dim: int) -> Tensor:
        total = x.sum(dim)
        return total % self._modulus(total)

    def ones_like(self, x: Tensor) -> Tensor:
        return torch.ones_like(x)

    def zeros_like(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x)
