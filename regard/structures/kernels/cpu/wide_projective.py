# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Projective trees on the CPU with scores of any size: Eisner's algorithm, inside and outside, in wide numbers.

Positions are 0 (the root symbol) to n. Items are indexed by their head and the far end of the span, so that
one matrix holds both directions and every sum runs along rows:

    complete[h, o]    trees over the span between h and o, headed by h (equals turned[o, h])
    arc[h, m]         the same with the arc h → m, before m gets its outer dependents
    split[s, t]       Σ_r complete[s, r] · complete[t, r+1], s ≤ r < t
    arc[h, m]       = exp(arcs[h, m]) · split[min, max]
    complete[h, o]  = Σ_r arc[h, r] · complete[r, o], r from h's neighbor to o
    Z               = complete[0, n]

For a single root split[0, t] has only r = 0. Items are wide numbers (see `wide`), mantissas in `M` and
exponents in `E`, so no score is too large or too small. In the outside pass each item's probability flows to
its parts in proportion to their product over the item. The marginal of h → m is the mass that reaches arc[h,
m].
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import LN2, power_of_two
from regard.structures.kernels.cpu.wide import largest_exponent, times, widen
from regard.structures.kernels.cpu.wide_projective_tangents import ARC, COMPLETE, SPLIT, TURNED

Array = NDArray[Any]


@reduction
def _sum_products(
    left: Array, right: Array, left_exponent: Array, right_exponent: Array, top: float
) -> float:
    total = 0.0
    for k in range(left.shape[0]):
        total += left[k] * right[k] * power_of_two(left_exponent[k] + right_exponent[k] - top)
    return total


@part
def _dot(left: Array, right: Array, left_exponent: Array, right_exponent: Array) -> tuple[float, float]:
    """Σ_k left[k] · right[k] of wide numbers."""
    top = largest_exponent(left_exponent, right_exponent)
    if top == -np.inf:
        return 0.0, top
    return widen(_sum_products(left, right, left_exponent, right_exponent, top), top)


@part
def inside(arcs: Array, n: int, single_root: bool, M: Array, E: Array) -> None:
    """Fill the charts M, E (4, size, size) of one sentence of n words."""
    for h in range(n + 1):
        M[COMPLETE, h, h], E[COMPLETE, h, h], M[TURNED, h, h], E[TURNED, h, h] = 1.0, 0.0, 1.0, 0.0
    for width in range(1, n + 1):
        for s in range(n + 1 - width):
            t = s + width
            r = s + 1 if single_root and s == 0 else t
            m, e = _dot(M[COMPLETE, s, s:r], M[COMPLETE, t, s + 1 : r + 1],
                        E[COMPLETE, s, s:r], E[COMPLETE, t, s + 1 : r + 1])  # fmt: skip
            M[SPLIT, s, t], E[SPLIT, s, t] = m, e
            M[ARC, s, t], E[ARC, s, t] = times(m, e, arcs[s, t])
            M[ARC, t, s], E[ARC, t, s] = times(m, e, arcs[t, s]) if s > 0 else (0.0, -np.inf)
            m, e = _dot(M[ARC, s, s + 1 : t + 1], M[TURNED, t, s + 1 : t + 1],
                        E[ARC, s, s + 1 : t + 1], E[TURNED, t, s + 1 : t + 1])  # fmt: skip
            M[COMPLETE, s, t], E[COMPLETE, s, t], M[TURNED, t, s], E[TURNED, t, s] = m, e, m, e
            m, e = 0.0, -np.inf
            if s > 0:
                m, e = _dot(M[ARC, t, s:t], M[TURNED, s, s:t], E[ARC, t, s:t], E[TURNED, s, s:t])
            M[COMPLETE, t, s], E[COMPLETE, t, s], M[TURNED, s, t], E[TURNED, s, t] = m, e, m, e


@part
def _share_out(left: Array, right: Array, left_exponent: Array, right_exponent: Array, top: float, mass: float,
               to_left: Array, to_right: Array) -> None:  # fmt: skip
    """Add the probability of each split to both parts; `mass` is the item's probability over its mantissa."""
    for k in range(left.shape[0]):
        share = left[k] * right[k] * power_of_two(left_exponent[k] + right_exponent[k] - top) * mass
        to_left[k] += share
        to_right[k] += share


@part
def _outside(n: int, single_root: bool, M: Array, E: Array, mass: Array) -> None:
    """mass[ARC] becomes the marginals; mass[COMPLETE, h, o] and mass[TURNED, o, h] belong to one item."""
    mass[:, : n + 1, : n + 1] = 0.0
    if M[COMPLETE, 0, n] == 0.0:
        return
    mass[COMPLETE, 0, n] = 1.0
    for width in range(n, 0, -1):
        for s in range(n + 1 - width):
            t = s + width
            a = mass[COMPLETE, s, t] + mass[TURNED, t, s]
            if a != 0.0:
                _share_out(M[ARC, s, s + 1 : t + 1], M[TURNED, t, s + 1 : t + 1], E[ARC, s, s + 1 : t + 1],
                           E[TURNED, t, s + 1 : t + 1], E[COMPLETE, s, t], a / M[COMPLETE, s, t],
                           mass[ARC, s, s + 1 : t + 1], mass[TURNED, t, s + 1 : t + 1])  # fmt: skip
            a = mass[COMPLETE, t, s] + mass[TURNED, s, t]
            if a != 0.0:
                _share_out(M[ARC, t, s:t], M[TURNED, s, s:t], E[ARC, t, s:t], E[TURNED, s, s:t],
                           E[COMPLETE, t, s], a / M[COMPLETE, t, s],
                           mass[ARC, t, s:t], mass[TURNED, s, s:t])  # fmt: skip
            a = mass[ARC, s, t] + mass[ARC, t, s]
            if a != 0.0:
                r = s + 1 if single_root and s == 0 else t
                _share_out(M[COMPLETE, s, s:r], M[COMPLETE, t, s + 1 : r + 1], E[COMPLETE, s, s:r],
                           E[COMPLETE, t, s + 1 : r + 1], E[SPLIT, s, t], a / M[SPLIT, s, t],
                           mass[COMPLETE, s, s:r], mass[COMPLETE, t, s + 1 : r + 1])  # fmt: skip


@kernel
def log_partition(
    arcs: Array, lengths: Array, single_root: bool, result: Array, first: int, last: int
) -> None:
    size = arcs.shape[1]
    M, E = np.empty((4, size, size)), np.empty((4, size, size))
    for b in range(first, last):
        n = lengths[b]
        inside(arcs[b], n, single_root, M, E)
        z = M[COMPLETE, 0, n]
        result[b] = E[COMPLETE, 0, n] * LN2 + math.log(z) if z != 0.0 else -np.inf


@kernel
def marginals(arcs: Array, lengths: Array, single_root: bool, result: Array, first: int, last: int) -> None:
    size = arcs.shape[1]
    M, E, mass = np.empty((4, size, size)), np.empty((4, size, size)), np.empty((3, size, size))
    for b in range(first, last):
        n = lengths[b]
        inside(arcs[b], n, single_root, M, E)
        _outside(n, single_root, M, E, mass)
        for h in range(n + 1):
            for m in range(1, n + 1):
                result[b, h, m] = mass[ARC, h, m]
