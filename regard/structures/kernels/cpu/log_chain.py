# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Linear chains of any number of states.

Computed in the scaled linear domain if its range suffices (see `scaled_chain`), else in the log domain as
below, in double precision for any input dtype.

Forward, α_{n+1}(j) = log Σ_i exp(α_n(i) + edges[n, i, j]), which also gives p_n(i | j) = exp(α_n(i) +
edges[n, i, j] − α_{n+1}(j)), the probability of state i at n given j at n+1. Backward, M[n, i, j] = p_n(i |
j) · μ_{n+1}(j) and μ_n(i) = Σ_j M[n, i, j]. Products of probabilities cannot overflow, and each edge needs
one exponential in total.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.arguments import lengths_at, rows_at, view
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import exp_nonpositive
from regard.structures.kernels.cpu.scaled_chain import scaled_log_partition, scaled_marginals

Array = NDArray[Any]


@part
def _reach(alpha: Array, edges: Array, b: int, n: int, top: Array) -> None:
    """top(j) = max_i α_n(i) + edges[n, i, j], or 0 where that is −inf."""
    C = alpha.shape[0]
    for j in range(C):
        top[j] = -np.inf
    for i in range(C):
        reached = alpha[i]
        for j in range(C):
            x = reached + edges[b, n, i * C + j]
            top[j] = x if x > top[j] else top[j]
    for j in range(C):
        top[j] = top[j] if top[j] > -np.inf else 0.0


@part
def _advance(alpha: Array, edges: Array, b: int, n: int, top: Array, total: Array) -> None:
    """One step of the forward recursion: `alpha` (C,) is replaced; `top` and `total` are scratch (C,)."""
    C = alpha.shape[0]
    _reach(alpha, edges, b, n, top)
    for j in range(C):
        total[j] = 0.0
    for i in range(C):
        reached = alpha[i]
        for j in range(C):
            total[j] += exp_nonpositive(reached + edges[b, n, i * C + j] - top[j])
    for j in range(C):
        alpha[j] = top[j] + math.log(total[j]) if total[j] != 0.0 else -np.inf


@part
def _advance_keeping(
    alpha: Array, edges: Array, b: int, n: int, given: Array, top: Array, total: Array
) -> None:
    """As `_advance`, leaving p(i | j) in given[b, n]."""
    C = alpha.shape[0]
    _reach(alpha, edges, b, n, top)
    for j in range(C):
        total[j] = 0.0
    for i in range(C):
        reached = alpha[i]
        for j in range(C):
            weight = exp_nonpositive(reached + edges[b, n, i * C + j] - top[j])
            given[b, n, i * C + j] = weight
            total[j] += weight
    for j in range(C):
        alpha[j] = top[j] + math.log(total[j]) if total[j] != 0.0 else -np.inf
        total[j] = 1.0 / total[j] if total[j] != 0.0 else 0.0
    for i in range(C):
        for j in range(C):
            given[b, n, i * C + j] *= total[j]


@part
def _log_sum(values: Array) -> float:
    top = -np.inf
    for i in range(values.shape[0]):
        top = top if values[i] <= top else values[i]
    if top == -np.inf or math.isnan(top):
        return top
    total = 0.0
    for i in range(values.shape[0]):
        total += math.exp(values[i] - top)
    return top + math.log(total)


@reduction
def _retreat(given: Array, b: int, n: int, mu: Array, scratch: Array) -> None:
    """Turn p(i | j) into M[i, j] in place and μ_{n+1} into μ_n, whose sum is kept at 1 against rounding."""
    C = mu.shape[0]
    mass = 0.0
    for i in range(C):
        row = 0.0
        for j in range(C):
            joint = given[b, n, i * C + j] * mu[j]
            given[b, n, i * C + j] = joint
            row += joint
        scratch[i] = row
        mass += row
    scale = 1.0 / mass if mass != 0.0 else 0.0
    for i in range(C):
        mu[i] = scratch[i] * scale


@part
def _careful_log_partition(init: Array, edges: Array, b: int, length: int) -> float:
    C = init.shape[1]
    alpha, top, total = np.empty(C), np.empty(C), np.empty(C)
    for i in range(C):
        alpha[i] = init[b, i]
    for n in range(length - 1):
        _advance(alpha, edges, b, n, top, total)
    return _log_sum(alpha)


@part
def _careful_marginals(init: Array, edges: Array, b: int, length: int, mu: Array, result: Array) -> None:
    C = init.shape[1]
    alpha, top, total = np.empty(C), np.empty(C), np.empty(C)
    for i in range(C):
        alpha[i] = init[b, i]
    for n in range(length - 1):
        _advance_keeping(alpha, edges, b, n, result, top, total)
    log_z = _log_sum(alpha)
    for i in range(C):
        mu[i] = math.exp(alpha[i] - log_z) if log_z != -np.inf else 0.0
    for n in range(length - 2, -1, -1):
        _retreat(result, b, n, mu, total)


@kernel
def log_partition(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, result: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """Arguments: shape (B, N−1, C), a zero of the dtype, addresses (see `kernels/chain`), range of chains."""
    start = rows_at(init, (B, C), zero)
    scores = view(edges, (B, steps, C * C), zero)
    n = lengths_at(lengths, B, steps + 1)
    log_z = view(result, (B,), zero)
    weights, prefix, sums = np.empty((1, 1, C * C), scores.dtype), np.empty((1, C)), np.empty((1, C))
    for b in range(first, last):
        log_z[b] = 0.0
        if n[b] > 0:
            right, total = scaled_log_partition(start, scores, b, n[b], weights, prefix, sums)
            log_z[b] = total if right else _careful_log_partition(start, scores, b, n[b])


@kernel
def marginals(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, states: int, joints: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """As `log_partition`; `states` (B, C) receives μ_0, `joints` (B, N−1, C, C) the M[n, i, j]."""
    start = rows_at(init, (B, C), zero)
    scores = view(edges, (B, steps, C * C), zero)
    n = lengths_at(lengths, B, steps + 1)
    initial, result = view(states, (B, C), zero), view(joints, (B, steps, C * C), zero)
    mu, prefixes, sums = np.empty(C), np.empty((steps + 1, C)), np.empty((steps + 1, C))
    for b in range(first, last):
        for i in range(C):
            mu[i] = 0.0
        if n[b] > 0 and not scaled_marginals(start, scores, b, n[b], prefixes, sums, mu, result):
            _careful_marginals(start, scores, b, n[b], mu, result)
        for i in range(C):
            initial[b, i] = mu[i]
        for step in range(max(n[b] - 1, 0), steps):
            for k in range(C * C):
                result[b, step, k] = 0.0


@kernel
def mode(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, result: int, states: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """Viterbi: the best score and its states; −1 beyond the length, or if the score is −inf or NaN."""
    start = rows_at(init, (B, C), zero)
    scores = view(edges, (B, steps, C * C), zero)
    n = lengths_at(lengths, B, steps + 1)
    score, path = view(result, (B,), zero), view(states, (B, steps + 1), np.int64(0))
    best, onward, came_from = np.empty(C), np.empty(C), np.empty((steps + 1, C), np.int32)
    for b in range(first, last):
        for step in range(steps + 1):
            path[b, step] = -1
        score[b] = 0.0
        if n[b] == 0:
            continue
        for i in range(C):
            best[i] = start[b, i]
        for step in range(n[b] - 1):
            for j in range(C):
                onward[j] = -np.inf
                came_from[step, j] = 0
            for i in range(C):
                for j in range(C):
                    x = best[i] + scores[b, step, i * C + j]
                    better = (x > onward[j]) | (x != x)
                    onward[j] = x if better else onward[j]
                    came_from[step, j] = i if better else came_from[step, j]
            for j in range(C):
                best[j] = onward[j]
        state = np.argmax(best)
        score[b] = best[state]
        if not best[state] > -np.inf:
            continue
        path[b, n[b] - 1] = state
        for step in range(n[b] - 2, -1, -1):
            state = came_from[step, state]
            path[b, step] = state
