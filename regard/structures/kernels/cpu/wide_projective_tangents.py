# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The backward pass of projective marginals in wide numbers: M ⊙ (E[G-score | arc] − E[G-score]), by inside-outside.

The Jacobian of the marginals is symmetric, so its product with G is the derivative of the marginals along G.
Each item has D, the expected G-score of its trees (a plain number), and each probability `mass` has its
derivative `rate`. Items and charts are those of `wide_projective`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import power_of_two
from regard.structures.kernels.cpu.wide import largest_exponent, times, widen

Array = NDArray[Any]
COMPLETE, TURNED, ARC, SPLIT = 0, 1, 2, 3


@reduction
def _sums(left: Array, right: Array, left_exponent: Array, right_exponent: Array, left_score: Array, right_score: Array,
          top: float) -> tuple[float, float]:  # fmt: skip
    total, score = 0.0, 0.0
    for k in range(left.shape[0]):
        weight = left[k] * right[k] * power_of_two(left_exponent[k] + right_exponent[k] - top)
        total += weight
        score += weight * (left_score[k] + right_score[k])
    return total, score


@part
def _dot(left: Array, right: Array, left_exponent: Array, right_exponent: Array, left_score: Array,
         right_score: Array) -> tuple[float, float, float]:  # fmt: skip
    """Σ_k left[k] · right[k] as a wide number, and the mean score under these weights."""
    top = largest_exponent(left_exponent, right_exponent)
    if top == -np.inf:
        return 0.0, top, 0.0
    total, score = _sums(left, right, left_exponent, right_exponent, left_score, right_score, top)
    mantissa, exponent = widen(total, top)
    return mantissa, exponent, score / total


@part
def _inside(arcs: Array, G: Array, n: int, single_root: bool, M: Array, E: Array, D: Array) -> None:
    for h in range(n + 1):
        for kind in (COMPLETE, TURNED):
            M[kind, h, h], E[kind, h, h], D[kind, h, h] = 1.0, 0.0, 0.0
    for width in range(1, n + 1):
        for s in range(n + 1 - width):
            t = s + width
            r = s + 1 if single_root and s == 0 else t
            m, e, d = _dot(M[COMPLETE, s, s:r], M[COMPLETE, t, s + 1 : r + 1], E[COMPLETE, s, s:r],
                           E[COMPLETE, t, s + 1 : r + 1], D[COMPLETE, s, s:r],
                           D[COMPLETE, t, s + 1 : r + 1])  # fmt: skip
            M[SPLIT, s, t], E[SPLIT, s, t], D[SPLIT, s, t] = m, e, d
            M[ARC, s, t], E[ARC, s, t] = times(m, e, arcs[s, t])
            D[ARC, s, t] = d + G[s, t] if M[ARC, s, t] != 0.0 else 0.0
            M[ARC, t, s], E[ARC, t, s] = times(m, e, arcs[t, s]) if s > 0 else (0.0, -np.inf)
            D[ARC, t, s] = d + G[t, s] if M[ARC, t, s] != 0.0 else 0.0
            m, e, d = _dot(M[ARC, s, s + 1 : t + 1], M[TURNED, t, s + 1 : t + 1], E[ARC, s, s + 1 : t + 1],
                           E[TURNED, t, s + 1 : t + 1], D[ARC, s, s + 1 : t + 1],
                           D[TURNED, t, s + 1 : t + 1])  # fmt: skip
            _set(M, E, D, s, t, m, e, d)
            m, e, d = 0.0, -np.inf, 0.0
            if s > 0:
                m, e, d = _dot(M[ARC, t, s:t], M[TURNED, s, s:t], E[ARC, t, s:t], E[TURNED, s, s:t],
                               D[ARC, t, s:t], D[TURNED, s, s:t])  # fmt: skip
            _set(M, E, D, t, s, m, e, d)


@part
def _set(M: Array, E: Array, D: Array, head: int, end: int, m: float, e: float, d: float) -> None:
    M[COMPLETE, head, end], E[COMPLETE, head, end], D[COMPLETE, head, end] = m, e, d
    M[TURNED, end, head], E[TURNED, end, head], D[TURNED, end, head] = m, e, d


@part
def _share_mass(left: Array, right: Array, left_exponent: Array, right_exponent: Array, top: float, mass: float,
                to_left: Array, to_right: Array, weights: Array) -> None:  # fmt: skip
    """As `wide_projective._share_out`; also writes the weight of each split to `weights`."""
    for k in range(left.shape[0]):
        weight = left[k] * right[k] * power_of_two(left_exponent[k] + right_exponent[k] - top)
        weights[k] = weight
        share = weight * mass
        to_left[k] += share
        to_right[k] += share


@part
def _share_rate(weights: Array, left_score: Array, right_score: Array, score: float, mass: float, rate: float,
                to_left: Array, to_right: Array) -> None:  # fmt: skip
    """The derivative of mass · weight is rate · weight + mass · weight · (score of the split − mean score)."""
    for k in range(left_score.shape[0]):
        moved = weights[k] * (rate + mass * (left_score[k] + right_score[k] - score))
        to_left[k] += moved
        to_right[k] += moved


@part
def _outside(
    n: int, single_root: bool, M: Array, E: Array, D: Array, mass: Array, rate: Array, weights: Array
) -> None:
    """rate[ARC] becomes the result. Slices have no names, because numba counts references to variables."""
    mass[:, : n + 1, : n + 1] = 0.0
    rate[:, : n + 1, : n + 1] = 0.0
    if M[COMPLETE, 0, n] == 0.0:
        return
    mass[COMPLETE, 0, n] = 1.0
    for width in range(n, 0, -1):
        for s in range(n + 1 - width):
            t = s + width
            a, z = mass[COMPLETE, s, t] + mass[TURNED, t, s], M[COMPLETE, s, t]
            if a != 0.0:
                b = rate[COMPLETE, s, t] + rate[TURNED, t, s]
                _share_mass(M[ARC, s, s + 1 : t + 1], M[TURNED, t, s + 1 : t + 1], E[ARC, s, s + 1 : t + 1],
                            E[TURNED, t, s + 1 : t + 1], E[COMPLETE, s, t], a / z,
                            mass[ARC, s, s + 1 : t + 1], mass[TURNED, t, s + 1 : t + 1], weights)  # fmt: skip
                _share_rate(weights, D[ARC, s, s + 1 : t + 1], D[TURNED, t, s + 1 : t + 1], D[COMPLETE, s, t],
                            a / z, b / z, rate[ARC, s, s + 1 : t + 1], rate[TURNED, t, s + 1 : t + 1])  # fmt: skip
            a, z = mass[COMPLETE, t, s] + mass[TURNED, s, t], M[COMPLETE, t, s]
            if a != 0.0:
                b = rate[COMPLETE, t, s] + rate[TURNED, s, t]
                _share_mass(M[ARC, t, s:t], M[TURNED, s, s:t], E[ARC, t, s:t], E[TURNED, s, s:t],
                            E[COMPLETE, t, s], a / z, mass[ARC, t, s:t], mass[TURNED, s, s:t], weights)  # fmt: skip
                _share_rate(weights, D[ARC, t, s:t], D[TURNED, s, s:t], D[COMPLETE, t, s], a / z, b / z,
                            rate[ARC, t, s:t], rate[TURNED, s, s:t])  # fmt: skip
            a, z = mass[ARC, s, t] + mass[ARC, t, s], M[SPLIT, s, t]
            if a != 0.0:
                b = rate[ARC, s, t] + rate[ARC, t, s]
                r = s + 1 if single_root and s == 0 else t
                _share_mass(M[COMPLETE, s, s:r], M[COMPLETE, t, s + 1 : r + 1], E[COMPLETE, s, s:r],
                            E[COMPLETE, t, s + 1 : r + 1], E[SPLIT, s, t], a / z,
                            mass[COMPLETE, s, s:r], mass[COMPLETE, t, s + 1 : r + 1], weights)  # fmt: skip
                _share_rate(weights, D[COMPLETE, s, s:r], D[COMPLETE, t, s + 1 : r + 1], D[SPLIT, s, t], a / z, b / z,
                            rate[COMPLETE, s, s:r], rate[COMPLETE, t, s + 1 : r + 1])  # fmt: skip


@kernel
def covariance(
    arcs: Array, lengths: Array, single_root: bool, G: Array, result: Array, first: int, last: int
) -> None:
    """`result` (B, N+1, N+1) must be zero."""
    size = arcs.shape[1]
    M, E, D = np.empty((4, size, size)), np.empty((4, size, size)), np.empty((4, size, size))
    mass, rate, weights = np.empty((3, size, size)), np.empty((3, size, size)), np.empty(size)
    for b in range(first, last):
        n = lengths[b]
        _inside(arcs[b], G[b], n, single_root, M, E, D)
        _outside(n, single_root, M, E, D, mass, rate, weights)
        for h in range(n + 1):
            for m in range(1, n + 1):
                result[b, h, m] = rate[ARC, h, m] if mass[ARC, h, m] != 0.0 else 0.0
