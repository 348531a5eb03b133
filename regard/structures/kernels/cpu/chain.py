# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Linear chains on the processor, in the log domain and in double precision whatever the type of the input.

Forward, α_{n+1}(j) = log Σ_i exp(α_n(i) + edges[n, i, j]), which also gives p_n(i | j) = exp(α_n(i) + edges[n, i, j]
− α_{n+1}(j)), the chance of state i at n given j at n+1. Backward, M[n, i, j] = p_n(i | j) · μ_{n+1}(j) and μ_n(i) =
Σ_j M[n, i, j]: products of probabilities, which cannot overflow, and one exponential for each edge in all.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu import two_states
from regard.structures.kernels.cpu.compilation import kernel, reduction
from regard.structures.kernels.cpu.exponential import exp_nonpositive
from regard.structures.kernels.cpu.parallel import arrays, full_lengths, over_batch

Array = NDArray[Any]


@kernel
def _advance(alpha: Array, edges: Array, top: Array, total: Array) -> None:
    """One step of the forward recursion: `alpha` (C,) is replaced; `top` and `total` are scratch (C,)."""
    C = alpha.shape[0]
    for j in range(C):
        top[j] = -np.inf
        total[j] = 0.0
    for i in range(C):
        for j in range(C):
            x = alpha[i] + edges[i, j]
            top[j] = x if x > top[j] else top[j]
    for j in range(C):
        top[j] = top[j] if top[j] > -np.inf else 0.0
    for i in range(C):
        for j in range(C):
            total[j] += exp_nonpositive(alpha[i] + edges[i, j] - top[j])
    for j in range(C):
        alpha[j] = top[j] + math.log(total[j]) if total[j] != 0.0 else -np.inf


@kernel
def _advance_keeping(alpha: Array, edges: Array, given: Array, top: Array, total: Array) -> None:
    """As `_advance`, leaving p(i | j) in `given` (C, C)."""
    C = alpha.shape[0]
    for j in range(C):
        top[j] = -np.inf
        total[j] = 0.0
    for i in range(C):
        for j in range(C):
            x = alpha[i] + edges[i, j]
            top[j] = x if x > top[j] else top[j]
    for j in range(C):
        top[j] = top[j] if top[j] > -np.inf else 0.0
    for i in range(C):
        for j in range(C):
            weight = exp_nonpositive(alpha[i] + edges[i, j] - top[j])
            given[i, j] = weight
            total[j] += weight
    for j in range(C):
        alpha[j] = top[j] + math.log(total[j]) if total[j] != 0.0 else -np.inf
        total[j] = 1.0 / total[j] if total[j] != 0.0 else 0.0
    for i in range(C):
        for j in range(C):
            given[i, j] *= total[j]


@kernel
def _log_sum(values: Array) -> float:
    top = -np.inf
    for value in values:
        top = value if value > top else top
    if top == -np.inf:
        return -np.inf if not np.isnan(values).any() else np.nan
    total = 0.0
    for value in values:
        total += math.exp(value - top)
    return top + math.log(total)


@kernel
def _log_partition(init: Array, edges: Array, lengths: Array, result: Array, first: int, last: int) -> None:
    C = init.shape[1]
    alpha, top, total = np.empty(C), np.empty(C), np.empty(C)
    for b in range(first, last):
        if lengths[b] == 0:
            result[b] = 0.0
            continue
        for i in range(C):
            alpha[i] = init[b, i]
        for n in range(lengths[b] - 1):
            _advance(alpha, edges[b, n], top, total)
        result[b] = _log_sum(alpha)


@kernel
def _marginals(
    init: Array, edges: Array, lengths: Array, states: Array, result: Array, first: int, last: int
) -> None:
    """`states` (B, C) receives μ_0, `result` (B, N−1, C, C) the M[n, i, j]; both come zeroed."""
    C = init.shape[1]
    alpha, top, total, mu = np.empty(C), np.empty(C), np.empty(C), np.empty(C)
    for b in range(first, last):
        if lengths[b] == 0:
            continue
        for i in range(C):
            alpha[i] = init[b, i]
        for n in range(lengths[b] - 1):
            _advance_keeping(alpha, edges[b, n], result[b, n], top, total)
        log_z = _log_sum(alpha)
        for i in range(C):
            mu[i] = math.exp(alpha[i] - log_z) if log_z != -np.inf else 0.0
        for n in range(lengths[b] - 2, -1, -1):
            _retreat(result[b, n], mu, total)
        for i in range(C):
            states[b, i] = mu[i]


@reduction
def _retreat(given: Array, mu: Array, scratch: Array) -> None:
    """Turn p(i | j) into M[i, j] in place and μ_{n+1} into μ_n, whose sum is kept at 1 against rounding."""
    C = mu.shape[0]
    mass = 0.0
    for i in range(C):
        row = 0.0
        for j in range(C):
            joint = given[i, j] * mu[j]
            given[i, j] = joint
            row += joint
        scratch[i] = row
        mass += row
    scale = 1.0 / mass if mass != 0.0 else 0.0
    for i in range(C):
        mu[i] = scratch[i] * scale


@kernel
def _covariance(
    marginals: Array, lengths: Array, states: Array, g_states: Array, g_edges: Array,
    out_states: Array, out_edges: Array, first: int, last: int,
) -> None:  # fmt: skip
    """M ⊙ (E[G | part] − E[G]) from the marginals alone.

    before[n, i] = E[G-score of parts before n | state i at n], after(j) likewise for the parts that follow, each less
    its mean, so that long chains do not lose digits; edges contribute G less its own mean.
    """
    C = states.shape[1]
    N = marginals.shape[1] + 1
    before, mean = np.empty((N, C)), np.empty(N)
    after, mu, scratch = np.empty(C), np.empty(C), np.empty(C)
    for b in range(first, last):
        length = lengths[b]
        if length == 0:
            continue
        middle = 0.0
        for i in range(C):
            mu[i] = states[b, i]
            middle += mu[i] * g_states[b, i]
        for i in range(C):
            before[0, i] = g_states[b, i] - middle if mu[i] != 0.0 else 0.0
        for n in range(length - 1):
            mean[n] = _carry(marginals[b, n], g_edges[b, n], before[n], before[n + 1], mu)
        for i in range(C):
            after[i] = 0.0
        for n in range(length - 2, -1, -1):
            _collect(marginals[b, n], g_edges[b, n], mean[n], before[n], after, scratch, out_edges[b, n])
        for i in range(C):
            out_states[b, i] = states[b, i] * (before[0, i] + after[i]) if states[b, i] != 0.0 else 0.0


@reduction
def _carry(joint: Array, g: Array, before: Array, onward: Array, mu: Array) -> float:
    """onward(j) = Σ_i p(i | j)(before(i) + g[i, j]) less its mean; `mu` becomes the marginal at n+1; returns E[g]."""
    C = mu.shape[0]
    for j in range(C):
        onward[j] = 0.0
        mu[j] = 0.0
    mean = 0.0
    for i in range(C):
        row = 0.0
        for j in range(C):
            weight = joint[i, j]
            # g may be infinite where the weight is zero
            gain = weight * g[i, j] if weight != 0.0 else 0.0
            onward[j] += weight * before[i] + gain
            mu[j] += weight
            row += gain
        mean += row
    centre, mass = 0.0, 0.0
    for j in range(C):
        centre += onward[j]
        mass += mu[j]
    if mass != 0.0:
        centre /= mass
        mean /= mass
    for j in range(C):
        onward[j] = onward[j] / mu[j] - centre if mu[j] != 0.0 else 0.0
    return mean


@reduction
def _collect(
    joint: Array, g: Array, mean: float, before: Array, after: Array, scratch: Array, out: Array
) -> None:
    """out = joint ⊙ (before + g − mean + after); `after` steps back from n+1 to n."""
    C = after.shape[0]
    centre, mass = 0.0, 0.0
    for i in range(C):
        total, weight_of_row = 0.0, 0.0
        for j in range(C):
            weight = joint[i, j]
            rest = (g[i, j] - mean if weight != 0.0 else 0.0) + after[j]
            out[i, j] = weight * (before[i] + rest)
            total += weight * rest
            weight_of_row += weight
        scratch[i] = total / weight_of_row if weight_of_row != 0.0 else 0.0
        centre += total
        mass += weight_of_row
    centre = centre / mass if mass != 0.0 else 0.0
    for i in range(C):
        after[i] = scratch[i] - centre if scratch[i] != 0.0 else 0.0


@kernel
def _mode(
    init: Array, edges: Array, lengths: Array, scores: Array, path: Array, first: int, last: int
) -> None:
    """Viterbi: the best score and its states; the path stays −1 beyond the length and where nothing is possible."""
    C, N = init.shape[1], edges.shape[1] + 1
    best, onward, came_from = np.empty(C), np.empty(C), np.empty((N, C), np.int32)
    for b in range(first, last):
        length = lengths[b]
        if length == 0:
            scores[b] = 0.0
            continue
        for i in range(C):
            best[i] = init[b, i]
        for n in range(length - 1):
            for j in range(C):
                onward[j] = -np.inf
                came_from[n, j] = 0
            for i in range(C):
                for j in range(C):
                    x = best[i] + edges[b, n, i, j]
                    if x > onward[j]:
                        onward[j] = x
                        came_from[n, j] = i
            for j in range(C):
                best[j] = onward[j]
        state = np.argmax(best)
        scores[b] = best[state]
        if best[state] == -np.inf:
            continue
        path[b, length - 1] = state
        for n in range(length - 2, -1, -1):
            state = came_from[n, state]
            path[b, n] = state


def log_partition(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
    result = torch.empty(edges.shape[0], dtype=edges.dtype)
    function = two_states.log_partition if edges.shape[-1] == 2 else _log_partition
    over_batch(function, *_work(edges), *_filled(init, edges, lengths), result.numpy())
    return result


def marginals(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    states = torch.zeros(edges.shape[0], edges.shape[-1], dtype=edges.dtype)
    joints = torch.zeros(edges.shape, dtype=edges.dtype)
    function = two_states.marginals if edges.shape[-1] == 2 else _marginals
    over_batch(function, *_work(edges), *_filled(init, edges, lengths), states.numpy(), joints.numpy())
    return states, joints


def covariance(
    states: Tensor,
    joints: Tensor,
    lengths: Tensor | None,
    g_states: Tensor | None,
    g_edges: Tensor,
    from_init: bool = True,
) -> tuple[Tensor | None, Tensor]:
    out_states = torch.zeros(states.shape, dtype=states.dtype)
    out_edges = torch.zeros(joints.shape, dtype=joints.dtype)
    function = two_states.covariance if states.shape[1] == 2 else _covariance
    first, gains, n = _filled(g_states, g_edges, lengths)
    known = arrays(joints, states)
    over_batch(
        function, *_work(joints), known[0], n, known[1], first, gains, out_states.numpy(), out_edges.numpy()
    )
    return out_states if from_init else None, out_edges


def mode(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    scores = torch.empty(edges.shape[0], dtype=edges.dtype)
    path = torch.full((edges.shape[0], edges.shape[1] + 1), -1, dtype=torch.int64)
    over_batch(_mode, *_work(edges), *_filled(init, edges, lengths), scores.numpy(), path.numpy())
    return scores, path


def _filled(first: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Array, Array, Array]:
    """The arrays of what the kernels take, zeros (B, C) and full lengths (B,) where none are given."""
    (array,) = arrays(edges)
    B, steps, C, _ = array.shape
    start = np.zeros((B, C), array.dtype) if first is None else arrays(first)[0]
    return start, array, full_lengths(lengths, B, steps + 1)


def _work(edges: Tensor) -> tuple[int, int]:
    B, steps, C, _ = edges.shape
    # Of two states each has its exponential and logarithm to itself, where rows of more share a vector's.
    return B, steps * (16 if C == 2 else C * C)
