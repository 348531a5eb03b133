# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The backward pass of a chain's marginals on the CPU: M ⊙ (E[G | part] − E[G]), from the marginals alone.

    before_n(i) = E[G-score of the parts before n | state i at n],   after_n(i) the same for the parts after n

Both are centered (their mean is subtracted), so that long chains lose no digits. So is G at each edge.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.arguments import lengths_at, rows_at, view
from regard.structures.kernels.cpu.compilation import kernel, part, reduction

Array = NDArray[Any]


@kernel
def covariance(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, states: int, joints: int,
    to_init: int, to_edges: int, first: int, last: int,
) -> None:  # fmt: skip
    """Arguments: the shape (B, N−1, C); a zero of the dtype; the addresses of G, of the lengths, of the
    marginals and of the results, where G, marginals and results are pairs (B, C) and (B, N−1, C, C); and a
    range of chains.
    """
    g_states = rows_at(init, (B, C), zero)
    g = view(edges, (B, steps, C * C), zero)
    n = lengths_at(lengths, B, steps + 1)
    initial, known = view(states, (B, C), zero), view(joints, (B, steps, C * C), zero)
    out_states, out = view(to_init, (B, C), zero), view(to_edges, (B, steps, C * C), zero)
    before, mean = np.empty((steps + 1, C)), np.empty(steps + 1)
    after, mu, scratch = np.empty(C), np.empty(C), np.empty(C)
    for b in range(first, last):
        middle = 0.0
        for i in range(C):
            middle += initial[b, i] * g_states[b, i] if initial[b, i] != 0.0 else 0.0
            after[i] = 0.0
        for i in range(C):
            before[0, i] = g_states[b, i] - middle if initial[b, i] != 0.0 else 0.0
        for step in range(n[b] - 1):
            mean[step] = _carry(known, g, b, step, before, mu, scratch)
        for step in range(n[b] - 2, -1, -1):
            _collect(known, g, b, step, mean[step], before, after, scratch, out)
        for i in range(C):
            here = n[b] > 0 and initial[b, i] != 0.0
            out_states[b, i] = initial[b, i] * (before[0, i] + after[i]) if here else 0.0
        for step in range(max(n[b] - 1, 0), steps):
            for k in range(C * C):
                out[b, step, k] = 0.0


@reduction
def _carry(joints: Array, g: Array, b: int, n: int, before: Array, mu: Array, gains: Array) -> float:
    """before_{n+1}(j) = Σ_i p(i | j)(before_n(i) + g[i, j]) minus its mean; returns E[g]."""
    C = mu.shape[0]
    for j in range(C):
        before[n + 1, j], mu[j], gains[j] = 0.0, 0.0, 0.0
    for i in range(C):
        past = before[n, i]
        for j in range(C):
            weight = joints[b, n, i * C + j]
            gain = weight * g[b, n, i * C + j]
            # g may be infinite where the weight is 0; selected without a branch
            gains[j] += gain if weight != 0.0 else 0.0
            before[n + 1, j] += weight * past
            mu[j] += weight
    mean, centre, mass = 0.0, 0.0, 0.0
    for j in range(C):
        before[n + 1, j] += gains[j]
        mean += gains[j]
        centre += before[n + 1, j]
        mass += mu[j]
    scale = 1.0 / mass if mass != 0.0 else 0.0
    for j in range(C):
        before[n + 1, j] = before[n + 1, j] / mu[j] - centre * scale if mu[j] != 0.0 else 0.0
    return mean * scale


@reduction
def _collect(
    joints: Array,
    g: Array,
    b: int,
    n: int,
    mean: float,
    before: Array,
    after: Array,
    scratch: Array,
    out: Array,
) -> None:
    """out = joint ⊙ (before + g − mean + after); `after` steps back from n+1 to n."""
    C = after.shape[0]
    for j in range(C):
        after[j] -= mean
    centre, mass = 0.0, 0.0
    for i in range(C):
        past = before[n, i]
        total, weight_of_row = 0.0, 0.0
        for j in range(C):
            weight = joints[b, n, i * C + j]
            rest = weight * (g[b, n, i * C + j] + after[j])
            rest = rest if weight != 0.0 else 0.0
            out[b, n, i * C + j] = weight * past + rest
            total += rest
            weight_of_row += weight
        scratch[i] = total / weight_of_row if weight_of_row != 0.0 else 0.0
        centre += total
        mass += weight_of_row
    centre = centre / mass if mass != 0.0 else 0.0
    for i in range(C):
        after[i] = scratch[i] - centre if scratch[i] != 0.0 else 0.0


@part
def _times(weight: float, value: float) -> float:
    """weight · value, 0 where the weight is 0 even if the value is infinite."""
    return weight * value if weight != 0.0 else 0.0


@part
def _ratio(value: float, weight: float) -> float:
    return value / weight if weight != 0.0 else 0.0


@kernel
def two_state_covariance(
    B: int, steps: int, C: int, zero: Any, init: int, edges: int, lengths: int, states: int, joints: int,
    to_init: int, to_edges: int, first: int, last: int,
) -> None:  # fmt: skip
    """The same for C = 2."""
    g_states = rows_at(init, (B, 2), zero)
    g = view(edges, (B, 4 * steps), zero)
    n = lengths_at(lengths, B, steps + 1)
    initial, known = view(states, (B, 2), zero), view(joints, (B, 4 * steps), zero)
    out_states, out = view(to_init, (B, 2), zero), view(to_edges, (B, 4 * steps), zero)
    before, mean = np.empty((steps + 1, 2)), np.empty(steps)
    for b in range(first, last):
        one_chain(known, b, n[b], initial, g_states, g, b, before, mean, out_states, out)


@part
def one_chain(
    joints: Array, b: int, length: int, states: Array, g_states: Array, g: Array, place: int,
    before: Array, mean: Array, out_states: Array, out: Array,
) -> None:  # fmt: skip
    """The result for joints[b] of two states. Other arrays have index `place`; before, mean are scratch."""
    for k in range(4 * max(length - 1, 0), out.shape[1]):
        out[place, k] = 0.0
    if length == 0:
        out_states[place, 0], out_states[place, 1] = 0.0, 0.0
        return
    _carry_two(joints, b, length, states, g_states, g, place, before, mean)
    zero, one = 0.0, 0.0
    for n in range(length - 2, -1, -1):
        m00, m01 = float(joints[b, 4 * n]), float(joints[b, 4 * n + 1])
        m10, m11 = float(joints[b, 4 * n + 2]), float(joints[b, 4 * n + 3])
        r00 = _times(m00, g[place, 4 * n] - mean[n] + zero)
        r01 = _times(m01, g[place, 4 * n + 1] - mean[n] + one)
        r10 = _times(m10, g[place, 4 * n + 2] - mean[n] + zero)
        r11 = _times(m11, g[place, 4 * n + 3] - mean[n] + one)
        out[place, 4 * n] = r00 + m00 * before[n, 0]
        out[place, 4 * n + 1] = r01 + m01 * before[n, 0]
        out[place, 4 * n + 2] = r10 + m10 * before[n, 1]
        out[place, 4 * n + 3] = r11 + m11 * before[n, 1]
        centre = (r00 + r01) + (r10 + r11)
        zero, one = _ratio(r00 + r01, m00 + m01) - centre, _ratio(r10 + r11, m10 + m11) - centre
    out_states[place, 0] = states[place, 0] * (before[0, 0] + zero)
    out_states[place, 1] = states[place, 1] * (before[0, 1] + one)


@part
def _carry_two(
    joints: Array, b: int, length: int, states: Array, g_states: Array, g: Array, place: int,
    before: Array, mean: Array,
) -> None:  # fmt: skip
    """Fill before_n(i) and mean[n] = E[G at edge n] of one chain."""
    zero, one = _times(states[place, 0], g_states[place, 0]), _times(states[place, 1], g_states[place, 1])
    centre = zero + one
    before[0, 0] = _ratio(zero, states[place, 0]) - centre
    before[0, 1] = _ratio(one, states[place, 1]) - centre
    for n in range(length - 1):
        m00, m01 = float(joints[b, 4 * n]), float(joints[b, 4 * n + 1])
        m10, m11 = float(joints[b, 4 * n + 2]), float(joints[b, 4 * n + 3])
        g00, g01 = _times(m00, g[place, 4 * n]), _times(m01, g[place, 4 * n + 1])
        g10, g11 = _times(m10, g[place, 4 * n + 2]), _times(m11, g[place, 4 * n + 3])
        mean[n] = (g00 + g01) + (g10 + g11)
        zero = (g00 + g10) + m00 * before[n, 0] + m10 * before[n, 1]
        one = (g01 + g11) + m01 * before[n, 0] + m11 * before[n, 1]
        centre = zero + one
        before[n + 1, 0] = _ratio(zero, m00 + m10) - centre
        before[n + 1, 1] = _ratio(one, m01 + m11) - centre
