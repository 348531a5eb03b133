"""Sums over all label sequences of a chain, and over all projective trees, step by step in numpy.

    α_n(j) = e_n(j) + log Σ_i exp(α_{n−1}(i) + b(i, j))         forward: all beginnings that end with label j
    β_n(i) = log Σ_j exp(b(i, j) + e_{n+1}(j) + β_{n+1}(j))     backward: all continuations of label i
    p(z_n = j) ∝ exp(α_n(j) + β_n(j))

For trees, inside sums are over the subtrees of a span (Eisner 1996), from narrow to wide, and the marginals of arcs are
their derivatives, from wide to narrow.
"""

from __future__ import annotations

import numpy as np

from regard.trace import Array
from regard.trace.potentials import Potentials


def log_sum(values: Array, axis: int) -> Array:
    highest = values.max(axis=axis, keepdims=True)
    found: Array = np.log(np.exp(values - highest).sum(axis=axis)) + highest.squeeze(axis)
    return found


def normalized(values: Array) -> Array:
    """exp(values), divided by their sum over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    found: Array = powers / powers.sum(axis=-1, keepdims=True)
    return found


def forward(found: Potentials) -> Array:
    """(…, N, C) α of every variable and label."""
    nodes = found.nodes
    alpha = np.array(nodes, copy=True)
    for step in range(1, nodes.shape[-2]):
        before = alpha[..., step - 1, :, None] + found.pair(step - 1)
        alpha[..., step, :] = nodes[..., step, :] + log_sum(before, -2)
    return alpha


def backward(found: Potentials) -> Array:
    """(…, N, C) β of every variable and label."""
    nodes = found.nodes
    beta = np.zeros_like(nodes)
    for step in range(nodes.shape[-2] - 2, -1, -1):
        after = (nodes + beta)[..., step + 1, None, :] + found.pair(step)
        beta[..., step, :] = log_sum(after, -1)
    return beta


def marginals(found: Potentials) -> Array:
    """(…, N, C) p(z_n = j)."""
    return normalized(forward(found) + backward(found))


def pair_marginals(found: Potentials) -> Array:
    """(…, N−1, C, C) p(z_n = i, z_{n+1} = j)."""
    alpha, beta, nodes = forward(found), backward(found), found.nodes
    steps = nodes.shape[-2] - 1
    joint = np.stack(
        [alpha[..., n, :, None] + found.pair(n) + (nodes + beta)[..., n + 1, None, :] for n in range(steps)],
        -3,
    )
    flat = normalized(joint.reshape(*joint.shape[:-2], -1))
    return flat.reshape(joint.shape)


class InsideSums:
    """Eisner's chart over N words and the root 0.

    complete   (2, N+1, N+1) log-sums over the subtrees of a span whose head is its first (0) or its last word (1)
    arcs       (N+1, N+1) marginals of head and word
    one_root   whether exactly one word has the root as its head
    """

    def __init__(self, scores: Array, *, one_root: bool) -> None:
        size = len(scores)
        self.scores, self.one_root = scores, one_root
        self.complete = np.full((2, size, size), -np.inf)
        self.open = np.full((2, size, size), -np.inf)
        for place in range(size):
            self.complete[:, place, place] = 0.0
        self._inside()
        self.log_partition, self.arcs = self._outside()

    def _inside(self) -> None:
        (right, left), (to_right, to_left), s = self.complete, self.open, self.scores
        size = len(s)
        for width in range(1, size):
            for i in range(size - width):
                j = i + width
                split = log_sum(right[i, i:j] + left[i + 1 : j + 1, j], 0)
                to_right[i, j] = split + s[i, j]
                to_left[i, j] = split + s[j, i] if i else -np.inf  # the root has no head
                if i == 0 and self.one_root and width < size:
                    to_right[i, j] = left[1, j] + s[0, j]  # the root's only child has all words before it
                right[i, j] = log_sum(to_right[i, i + 1 : j + 1] + right[i + 1 : j + 1, j], 0)
                if i:
                    left[i, j] = log_sum(left[i, i:j] + to_left[i:j, j], 0)

    def _outside(self) -> tuple[float, Array]:
        """log Z, and the derivative of log Z by every score: the marginals."""
        (right, left), (to_right, to_left), s = self.complete, self.open, self.scores
        size = len(s)
        total = float(right[0, size - 1])
        g_complete, g_open = np.zeros_like(self.complete), np.zeros_like(self.open)
        g_complete[0, 0, size - 1] = 1.0
        found = np.zeros_like(s)
        for width in range(size - 1, 0, -1):
            for i in range(size - width):
                j = i + width
                if i and g_complete[1, i, j]:
                    share = _shares(left[i, i:j] + to_left[i:j, j], left[i, j]) * g_complete[1, i, j]
                    g_complete[1, i, i:j] += share
                    g_open[1, i:j, j] += share
                if g_complete[0, i, j]:
                    share = _shares(to_right[i, i + 1 : j + 1] + right[i + 1 : j + 1, j], right[i, j])
                    share = share * g_complete[0, i, j]
                    g_open[0, i, i + 1 : j + 1] += share
                    g_complete[0, i + 1 : j + 1, j] += share
                both = g_open[0, i, j] + g_open[1, i, j]
                found[i, j] += g_open[0, i, j]
                found[j, i] += g_open[1, i, j]
                if i == 0 and self.one_root:
                    g_complete[1, 1, j] += both
                elif both:
                    sums = right[i, i:j] + left[i + 1 : j + 1, j]
                    share = _shares(sums, log_sum(sums, 0)) * both
                    g_complete[0, i, i:j] += share
                    g_complete[1, i + 1 : j + 1, j] += share
        return total, found


def _shares(parts: Array, total: Array) -> Array:
    found: Array = np.exp(parts - total) if np.isfinite(total) else np.zeros_like(parts)
    return found
