# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The chain with two states (segments): the recursions of `scaled_chain` with scalars instead of rows.

If their range does not suffice, the log domain is used. Of the two paths into a state the better one has
weight 1, so each state costs one exponential and one logarithm. Edges have shape (B, 4(N−1)) here, with step
n at 4n: 00, 01, 10, 11.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.arguments import lengths_at, rows_at, view
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.exponential import exp_nonpositive, exponential
from regard.structures.kernels.cpu.mathematics import larger
from regard.structures.kernels.cpu.scaled_chain import LEAST

Array = NDArray[Any]


@part
def _join(x: float, y: float) -> tuple[float, float, float]:
    """log(exp x + exp y), and the shares of x and y in the sum."""
    if x == -np.inf and y == -np.inf:
        return -np.inf, 0.0, 0.0
    top = larger(x, y)
    if top == np.inf:  # as logsumexp: the sum is infinite, its shares are NaN
        return top, np.nan, np.nan
    small = exp_nonpositive(-abs(x - y))
    share = 1.0 / (1.0 + small)
    rest = small * share
    # Selected without a branch, because which is larger cannot be predicted.
    return top + math.log(1.0 + small), share if x > y else rest, rest if x > y else share


@part
def _weigh(edges: Array, b: int, steps: int, weights: Array, place: int, best: Array) -> None:
    """Write W of all steps to weights[place], and the maximum of each step to `best`."""
    for n in range(steps):
        top = larger(
            larger(edges[b, 4 * n], edges[b, 4 * n + 1]), larger(edges[b, 4 * n + 2], edges[b, 4 * n + 3])
        )
        top = top if top != -np.inf else edges.dtype.type(0.0)
        best[n] = top
        weights[place, 4 * n], weights[place, 4 * n + 1] = edges[b, 4 * n] - top, edges[b, 4 * n + 1] - top
        weights[place, 4 * n + 2], weights[place, 4 * n + 3] = (
            edges[b, 4 * n + 2] - top,
            edges[b, 4 * n + 3] - top,
        )
    # A separate loop, so that the compiler vectorizes it across steps.
    for k in range(4 * steps):
        weights[place, k] = exponential(weights[place, k])


@part
def _lost(total: float, zero: float, one: float, from_zero: float, from_one: float) -> bool:
    """Whether a sum this small may have lost terms, instead of being 0 because there is no path."""
    return total != 0.0 or (zero > 0.0 and from_zero > -np.inf) or (one > 0.0 and from_one > -np.inf)


@part
def _forward(
    init: Array, edges: Array, b: int, length: int, weights: Array, place: int, prefixes: Array, sums: Array
) -> tuple[bool, float]:
    """Write a_n to prefixes[n] and c_{n+1} to sums[n], both up to a factor. Returns whether the range
    suffices, and the logarithm of the last total.
    """
    taken = larger(float(init[b, 0]), float(init[b, 1]))
    if not taken > -np.inf:
        return False, taken
    zero, one = exp_nonpositive(init[b, 0] - taken), exp_nonpositive(init[b, 1] - taken)
    for n in range(length - 1):
        prefixes[n, 0], prefixes[n, 1] = zero, one
        least = LEAST * (zero + one)
        to_zero = zero * weights[place, 4 * n] + one * weights[place, 4 * n + 2]
        to_one = zero * weights[place, 4 * n + 1] + one * weights[place, 4 * n + 3]
        if not to_zero >= least and _lost(to_zero, zero, one, edges[b, 4 * n], edges[b, 4 * n + 2]):
            return False, taken
        if not to_one >= least and _lost(to_one, zero, one, edges[b, 4 * n + 1], edges[b, 4 * n + 3]):
            return False, taken
        sums[n, 0], sums[n, 1] = to_zero, to_one
        zero, one = to_zero, to_one
        total = zero + one
        if not 1e-100 < total < 1e100:
            if total == 0.0:
                return False, taken
            zero, one = zero / total, one / total
            taken += math.log(total)
    prefixes[length - 1, 0], prefixes[length - 1, 1] = zero, one
    return True, taken + math.log(zero + one)


@part
def _backward(length: int, prefixes: Array, sums: Array, joints: Array, b: int) -> tuple[float, float]:
    """Turn W into M in place; returns μ_0."""
    zero, one = prefixes[length - 1, 0], prefixes[length - 1, 1]
    zero, one = zero / (zero + one), one / (zero + one)
    for n in range(length - 2, -1, -1):
        to_zero = zero * (1.0 / sums[n, 0]) if sums[n, 0] != 0.0 else 0.0
        to_one = one * (1.0 / sums[n, 1]) if sums[n, 1] != 0.0 else 0.0
        m00, m01 = prefixes[n, 0] * joints[b, 4 * n] * to_zero, prefixes[n, 0] * joints[b, 4 * n + 1] * to_one
        m10, m11 = (
            prefixes[n, 1] * joints[b, 4 * n + 2] * to_zero,
            prefixes[n, 1] * joints[b, 4 * n + 3] * to_one,
        )
        joints[b, 4 * n], joints[b, 4 * n + 1] = m00, m01
        joints[b, 4 * n + 2], joints[b, 4 * n + 3] = m10, m11
        zero, one = m00 + m01, m10 + m11
    return zero, one


@kernel
def log_partition(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, result: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """See `log_chain.log_partition`; C is 2."""
    start = rows_at(init, (B, 2), zero)
    scores = view(edges, (B, 4 * steps), zero)
    n = lengths_at(lengths, B, steps + 1)
    log_z, weights, best = view(result, (B,), zero), np.empty((1, 4 * steps), scores.dtype), np.empty(steps)
    prefixes, sums = np.empty((steps + 1, 2)), np.empty((steps, 2))
    for b in range(first, last):
        log_z[b] = 0.0
        if n[b] > 0:
            _weigh(scores, b, n[b] - 1, weights, 0, best)
            right, total = _forward(start, scores, b, n[b], weights, 0, prefixes, sums)
            for step in range(n[b] - 1):
                total += best[step]
            log_z[b] = total if right else _careful_log_partition(start, scores, b, n[b])


@part
def _careful_log_partition(init: Array, edges: Array, b: int, length: int) -> float:
    zero, one = float(init[b, 0]), float(init[b, 1])
    for n in range(length - 1):
        next_zero = _join(zero + edges[b, 4 * n], one + edges[b, 4 * n + 2])[0]
        one = _join(zero + edges[b, 4 * n + 1], one + edges[b, 4 * n + 3])[0]
        zero = next_zero
    return _join(zero, one)[0]


@kernel
def marginals(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, states: int, joints: int,
    first: int, last: int,
) -> None:  # fmt: skip
    start = rows_at(init, (B, 2), zero)
    scores = view(edges, (B, 4 * steps), zero)
    n = lengths_at(lengths, B, steps + 1)
    initial, result = view(states, (B, 2), zero), view(joints, (B, 4 * steps), zero)
    best, prefixes, sums = np.empty(steps), np.empty((steps + 1, 2)), np.empty((steps, 2))
    for b in range(first, last):
        initial[b, 0], initial[b, 1] = one_chain(start, scores, b, n[b], result, b, best, prefixes, sums)


@part
def one_chain(
    init: Array, edges: Array, b: int, length: int, result: Array, place: int,
    best: Array, prefixes: Array, sums: Array,
) -> tuple[float, float]:  # fmt: skip
    """Write the marginals of chain b to result[place]; returns p(z_0). The other arrays are scratch."""
    for k in range(4 * max(length - 1, 0), result.shape[1]):
        result[place, k] = 0.0
    if length == 0:
        return 0.0, 0.0
    _weigh(edges, b, length - 1, result, place, best)
    if _forward(init, edges, b, length, result, place, prefixes, sums)[0]:
        return _backward(length, prefixes, sums, result, place)
    return _careful_marginals(init, edges, b, length, result, place)


@part
def _careful_marginals(
    init: Array, edges: Array, b: int, length: int, result: Array, place: int
) -> tuple[float, float]:
    """As `one_chain`, in the log domain, for any range."""
    zero, one = float(init[b, 0]), float(init[b, 1])
    for n in range(length - 1):
        next_zero, from_zero, from_one = _join(zero + edges[b, 4 * n], one + edges[b, 4 * n + 2])
        result[place, 4 * n], result[place, 4 * n + 2] = from_zero, from_one
        one, from_zero, from_one = _join(zero + edges[b, 4 * n + 1], one + edges[b, 4 * n + 3])
        result[place, 4 * n + 1], result[place, 4 * n + 3] = from_zero, from_one
        zero = next_zero
    _, mu_zero, mu_one = _join(zero, one)
    for n in range(length - 2, -1, -1):
        m00, m01 = result[place, 4 * n] * mu_zero, result[place, 4 * n + 1] * mu_one
        m10, m11 = result[place, 4 * n + 2] * mu_zero, result[place, 4 * n + 3] * mu_one
        result[place, 4 * n], result[place, 4 * n + 1] = m00, m01
        result[place, 4 * n + 2], result[place, 4 * n + 3] = m10, m11
        mu_zero, mu_one = m00 + m01, m10 + m11
        mass = mu_zero + mu_one
        if mass != 0.0:
            mu_zero /= mass
            mu_one /= mass
    return mu_zero, mu_one
