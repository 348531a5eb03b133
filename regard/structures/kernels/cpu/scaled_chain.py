# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""One linear chain in the scaled linear domain, with a check that its range suffices.

    W[n, i, j] = exp(edges[n, i, j] − maximum of step n)
    a_0 = exp(init), up to a factor;   c_{n+1}(j) = Σ_i a_n(i) W[n, i, j];   a_{n+1} = c_{n+1} / Σ_j c_{n+1}(j)
    μ_{N−1} = a_{N−1};   M[n, i, j] = a_n(i) W[n, i, j] μ_{n+1}(j) / c_{n+1}(j);   μ_n(i) = Σ_j M[n, i, j]

Each edge needs one exponential, independent of all others, and each step one logarithm, of its scale. Every
c_{n+1}(j) must be either exactly 0, for a state that cannot be reached, or at least LEAST: values that
underflow in W or a are then far below the last digit of every sum. Otherwise the functions return False, and
the chain must be computed in the log domain.

Edges and joints have shape (B, N−1, C·C) here; b is the chain. Functions receive whole arrays and indices,
because a slice would cost more than the work on a small tile.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import part, reduction
from regard.structures.kernels.cpu.exponential import exp_nonpositive, exponential
from regard.structures.kernels.cpu.mathematics import larger

Array = NDArray[Any]
LEAST = 1e-12


@part
def _best(edges: Array, b: int, n: int) -> Any:
    top = edges[b, n, 0]
    for k in range(1, edges.shape[2]):
        top = larger(top, edges[b, n, k])
    return top


@part
def _weigh(edges: Array, b: int, n: int, weights: Array, place: int, m: int) -> float:
    """Write W of step n to weights[place, m]; returns the maximum, 0 if all scores are −inf."""
    best = _best(edges, b, n)
    if best == -np.inf:
        best = edges.dtype.type(0.0)
    for k in range(edges.shape[2]):
        weights[place, m, k] = exponential(edges[b, n, k] - best)
    return best


@part
def _start(init: Array, b: int, prefixes: Array) -> float:
    """Write a_0, with sum 1, to prefixes[0]; returns the log of its scale, −inf if no state is possible."""
    best = -np.inf
    for i in range(init.shape[1]):
        best = best if init[b, i] <= best else init[b, i]
    total = 0.0
    for i in range(init.shape[1]):
        prefixes[0, i] = exp_nonpositive(init[b, i] - best) if init[b, i] != -np.inf else 0.0
        total += prefixes[0, i]
    for i in range(init.shape[1]):
        prefixes[0, i] = prefixes[0, i] / total if total != 0.0 else 0.0
    return best + math.log(total) if total != 0.0 else -np.inf


@part
def _pass_on(prefixes: Array, n: int, weights: Array, place: int, m: int, sums: Array) -> None:
    """Write c_{n+1} to sums[n]."""
    C = prefixes.shape[1]
    for j in range(C):
        sums[n, j] = 0.0
    for i in range(C):
        share = prefixes[n, i]
        for j in range(C):
            sums[n, j] += share * weights[place, m, i * C + j]


@reduction
def _normalise(sums: Array, n: int, prefixes: Array, following: int) -> float:
    C = sums.shape[1]
    total = 0.0
    for j in range(C):
        total += sums[n, j]
    scale = 1.0 / total if total != 0.0 else 0.0
    for j in range(C):
        prefixes[following, j] = sums[n, j] * scale
    return total


@part
def _suffices(prefixes: Array, n: int, edges: Array, b: int, step: int, sums: Array) -> bool:
    """Whether each sum is at least LEAST, or 0 because no path leads to the state."""
    C = sums.shape[1]
    enough = True
    for j in range(C):
        enough &= sums[n, j] >= LEAST
    if enough:
        return True
    for j in range(C):
        if not sums[n, j] >= LEAST:
            if sums[n, j] != 0.0:
                return False
            for i in range(C):
                if prefixes[n, i] > 0.0 and edges[b, step, i * C + j] > -np.inf:
                    return False
    return True


@part
def scaled_log_partition(
    init: Array, edges: Array, b: int, length: int, weights: Array, prefixes: Array, sums: Array
) -> tuple[bool, float]:
    """log Z of chain b; weights (1, 1, C·C), prefixes and sums (1, C) are scratch."""
    total = _start(init, b, prefixes)
    for n in range(length - 1):
        best = _weigh(edges, b, n, weights, 0, 0)
        _pass_on(prefixes, 0, weights, 0, 0, sums)
        if not _suffices(prefixes, 0, edges, b, n, sums):
            return False, total
        scale = _normalise(sums, 0, prefixes, 0)
        if scale == 0.0:
            return True, -np.inf
        total += best + math.log(scale)
    return not math.isnan(total), total


@part
def scaled_marginals(
    init: Array, edges: Array, b: int, length: int, prefixes: Array, sums: Array, mu: Array, joints: Array
) -> bool:
    """Fill joints[b] and leave μ_0 in mu (C,); prefixes and sums (N, C) are scratch."""
    if math.isnan(_start(init, b, prefixes)):
        return False
    for n in range(length - 1):
        _weigh(edges, b, n, joints, b, n)
        _pass_on(prefixes, n, joints, b, n, sums)
        if not _suffices(prefixes, n, edges, b, n, sums):
            return False
        _normalise(sums, n, prefixes, n + 1)
    for i in range(mu.shape[0]):
        mu[i] = prefixes[length - 1, i]
    for n in range(length - 2, -1, -1):
        _retreat(joints, b, n, prefixes, sums, mu)
    return True


@reduction
def _retreat(joints: Array, b: int, n: int, prefixes: Array, sums: Array, mu: Array) -> None:
    """Turn W into M and μ_{n+1} into μ_n in place; sums[n] becomes μ_{n+1} / c_{n+1}."""
    C = mu.shape[0]
    for j in range(C):
        sums[n, j] = mu[j] / sums[n, j] if sums[n, j] != 0.0 else 0.0
    for i in range(C):
        share, row = prefixes[n, i], 0.0
        for j in range(C):
            onward = joints[b, n, i * C + j] * sums[n, j]
            joints[b, n, i * C + j] = share * onward
            row += onward
        mu[i] = share * row
