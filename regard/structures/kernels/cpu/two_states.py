# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The chain with two states (segments), unrolled: the recursions of `chain` with numbers instead of rows.

Of the two ways into a state the better one has weight 1, so each state costs one exponential and one logarithm.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.exponential import exp_nonpositive

Array = NDArray[Any]


@kernel
def _join(x: float, y: float) -> tuple[float, float, float]:
    """log(exp x + exp y) and the share of each."""
    if x == -np.inf and y == -np.inf:
        return -np.inf, 0.0, 0.0
    top = x if x > y else y
    small = exp_nonpositive(-abs(x - y))
    share = 1.0 / (1.0 + small)
    rest = small * share
    # Chosen, not branched on: which of the two is larger cannot be predicted.
    return top + math.log(1.0 + small), share if x > y else rest, rest if x > y else share


@kernel
def log_partition(init: Array, edges: Array, lengths: Array, result: Array, first: int, last: int) -> None:
    for b in range(first, last):
        if lengths[b] == 0:
            result[b] = 0.0
            continue
        zero, one = float(init[b, 0]), float(init[b, 1])
        for n in range(lengths[b] - 1):
            next_zero = _join(zero + edges[b, n, 0, 0], one + edges[b, n, 1, 0])[0]
            one = _join(zero + edges[b, n, 0, 1], one + edges[b, n, 1, 1])[0]
            zero = next_zero
        result[b] = _join(zero, one)[0]


@kernel
def marginals(
    init: Array, edges: Array, lengths: Array, states: Array, result: Array, first: int, last: int
) -> None:
    for b in range(first, last):
        if lengths[b] == 0:
            continue
        zero, one = float(init[b, 0]), float(init[b, 1])
        for n in range(lengths[b] - 1):
            next_zero, from_zero, from_one = _join(zero + edges[b, n, 0, 0], one + edges[b, n, 1, 0])
            result[b, n, 0, 0], result[b, n, 1, 0] = from_zero, from_one
            one, from_zero, from_one = _join(zero + edges[b, n, 0, 1], one + edges[b, n, 1, 1])
            result[b, n, 0, 1], result[b, n, 1, 1] = from_zero, from_one
            zero = next_zero
        _, mu_zero, mu_one = _join(zero, one)
        for n in range(lengths[b] - 2, -1, -1):
            m00, m01 = result[b, n, 0, 0] * mu_zero, result[b, n, 0, 1] * mu_one
            m10, m11 = result[b, n, 1, 0] * mu_zero, result[b, n, 1, 1] * mu_one
            result[b, n, 0, 0], result[b, n, 0, 1] = m00, m01
            result[b, n, 1, 0], result[b, n, 1, 1] = m10, m11
            mu_zero, mu_one = m00 + m01, m10 + m11
            mass = mu_zero + mu_one
            if mass != 0.0:
                mu_zero /= mass
                mu_one /= mass
        states[b, 0], states[b, 1] = mu_zero, mu_one


@kernel
def _times(weight: float, value: float) -> float:
    """weight · value, 0 where the weight is 0 even if the value is infinite."""
    return weight * value if weight != 0.0 else 0.0


@kernel
def _ratio(value: float, weight: float) -> float:
    return value / weight if weight != 0.0 else 0.0


@kernel
def covariance(
    joints: Array, lengths: Array, states: Array, g_states: Array, g_edges: Array,
    out_states: Array, out_edges: Array, first: int, last: int,
) -> None:  # fmt: skip
    """M ⊙ (E[G | part] − E[G]); see `chain._covariance`, whose two passes these are."""
    before = np.empty((joints.shape[1] + 1, 2))
    mean = np.empty(joints.shape[1] + 1)
    for b in range(first, last):
        if lengths[b] == 0:
            continue
        _carry(joints[b], lengths[b], states[b], g_states[b], g_edges[b], before, mean)
        zero, one = 0.0, 0.0
        for n in range(lengths[b] - 2, -1, -1):
            m00, m01 = float(joints[b, n, 0, 0]), float(joints[b, n, 0, 1])
            m10, m11 = float(joints[b, n, 1, 0]), float(joints[b, n, 1, 1])
            r00 = _times(m00, g_edges[b, n, 0, 0] - mean[n] + zero)
            r01 = _times(m01, g_edges[b, n, 0, 1] - mean[n] + one)
            r10 = _times(m10, g_edges[b, n, 1, 0] - mean[n] + zero)
            r11 = _times(m11, g_edges[b, n, 1, 1] - mean[n] + one)
            out_edges[b, n, 0, 0] = r00 + m00 * before[n, 0]
            out_edges[b, n, 0, 1] = r01 + m01 * before[n, 0]
            out_edges[b, n, 1, 0] = r10 + m10 * before[n, 1]
            out_edges[b, n, 1, 1] = r11 + m11 * before[n, 1]
            centre = (r00 + r01) + (r10 + r11)
            zero, one = _ratio(r00 + r01, m00 + m01) - centre, _ratio(r10 + r11, m10 + m11) - centre
        out_states[b, 0] = states[b, 0] * (before[0, 0] + zero)
        out_states[b, 1] = states[b, 1] * (before[0, 1] + one)


@kernel
def _carry(
    joint: Array, length: int, state: Array, g_state: Array, g_edge: Array, before: Array, mean: Array
) -> None:
    """Fill before[n, i] and mean[n] = E[G at edge n] of one chain."""
    zero, one = _times(state[0], g_state[0]), _times(state[1], g_state[1])
    centre = zero + one
    before[0, 0], before[0, 1] = _ratio(zero, state[0]) - centre, _ratio(one, state[1]) - centre
    for n in range(length - 1):
        m00, m01 = float(joint[n, 0, 0]), float(joint[n, 0, 1])
        m10, m11 = float(joint[n, 1, 0]), float(joint[n, 1, 1])
        g00, g01 = _times(m00, g_edge[n, 0, 0]), _times(m01, g_edge[n, 0, 1])
        g10, g11 = _times(m10, g_edge[n, 1, 0]), _times(m11, g_edge[n, 1, 1])
        mean[n] = (g00 + g01) + (g10 + g11)
        zero = (g00 + g10) + m00 * before[n, 0] + m10 * before[n, 1]
        one = (g01 + g11) + m01 * before[n, 0] + m11 * before[n, 1]
        centre = zero + one
        before[n + 1, 0] = _ratio(zero, m00 + m10) - centre
        before[n + 1, 1] = _ratio(one, m01 + m11) - centre
