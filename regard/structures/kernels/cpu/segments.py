# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Segments on the processor: the recursions of `two_states` on edges put together for one chain at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor

from regard.structures.kernels.cpu import two_states
from regard.structures.kernels.cpu.chain_covariance import one_chain
from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.memory import ZERO, addresses, contiguous, lengths_at, view, whole
from regard.structures.kernels.cpu.parallel import over_batch


@kernel
def _marginals(
    B: int, N: int, zero: Any, scores: int, transitions: int, lengths: int, inside: int, joints: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """The shape (B, N), the 0 of the type, the addresses of what `kernels/segments` names and of the answers, the
    marginals of positions (B, N) and of pairs (B, N−1, 2, 2), and a range of chains.
    """
    given, between, n = view(scores, (B, N), zero), view(transitions, (B, 4), zero), lengths_at(lengths, B, N)
    position, pairs = view(inside, (B, N), zero), view(joints, (B, 4 * (N - 1)), zero)
    init, edges = np.full((1, 2), zero), np.empty((1, 4 * (N - 1)), given.dtype)
    best, prefixes, sums = np.empty(N), np.empty((N, 2)), np.empty((N, 2))
    for b in range(first, last):
        for k in range(1, n[b]):
            edges[0, 4 * k - 4], edges[0, 4 * k - 2] = between[b, 0], between[b, 2]
            edges[0, 4 * k - 3] = between[b, 1] + given[b, k]
            edges[0, 4 * k - 1] = between[b, 3] + given[b, k]
        init[0, 1] = given[b, 0]
        position[b, 0] = two_states.one_chain(init, edges, 0, n[b], pairs, b, best, prefixes, sums)[1]
        for k in range(1, N):
            position[b, k] = pairs[b, 4 * k - 3] + pairs[b, 4 * k - 1]


@kernel
def _covariance(
    B: int, N: int, zero: Any, gradient: int, inside: int, joints: int, lengths: int, to_scores: int,
    to_transitions: int, first: int, last: int,
) -> None:  # fmt: skip
    """As `_marginals`: the addresses of G (B, N), of both marginals, of the lengths and of the answers."""
    g, n = view(gradient, (B, N), zero), lengths_at(lengths, B, N)
    position, pairs = view(inside, (B, N), zero), view(joints, (B, 4 * (N - 1)), zero)
    out, between = view(to_scores, (B, N), zero), view(to_transitions, (B, 4), zero)
    states, gains, moved = np.full((1, 2), zero), np.full((1, 2), zero), np.empty((1, 2))
    change, before, mean = np.empty((1, 4 * (N - 1)), g.dtype), np.empty((N, 2)), np.empty(N)
    for b in range(first, last):
        # State 0 has no gain, so its weight is not asked for where the chain has edges; alone it is the rest.
        states[0, 0] = 1.0 - position[b, 0] if n[b] == 1 else pairs[b, 0] + pairs[b, 1]
        states[0, 1], gains[0, 1] = position[b, 0], g[b, 0]
        for k in range(1, n[b]):
            change[0, 4 * k - 4], change[0, 4 * k - 2] = 0.0, 0.0
            change[0, 4 * k - 3], change[0, 4 * k - 1] = g[b, k], g[b, k]
        one_chain(pairs, b, n[b], states, gains, change, 0, before, mean, moved, change)
        out[b, 0] = moved[0, 1]
        for i in range(4):
            between[b, i] = 0.0
        for k in range(1, N):
            out[b, k] = change[0, 4 * k - 3] + change[0, 4 * k - 1]
            for i in range(4):
                between[b, i] += change[0, 4 * k - 4 + i]


def marginals(scores: Tensor, transitions: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    B, N = scores.shape
    scores, transitions, lengths = contiguous(scores), contiguous(transitions), whole(lengths)
    inside, joints = scores.new_empty(B, N), scores.new_empty(B, N - 1, 2, 2)
    places = addresses(scores, transitions, lengths, inside, joints)
    over_batch(_marginals, B, 4 * N, B, N, ZERO[scores.dtype], *places)
    return inside, joints


def covariance(
    inside: Tensor, joints: Tensor, lengths: Tensor | None, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    B, N = inside.shape
    inside, joints = contiguous(inside), contiguous(joints)
    gradient, lengths = contiguous(gradient), whole(lengths)
    to_scores, to_transitions = inside.new_empty(B, N), inside.new_empty(B, 2, 2)
    places = addresses(gradient, inside, joints, lengths, to_scores, to_transitions)
    over_batch(_covariance, B, 4 * N, B, N, ZERO[inside.dtype], *places)
    return to_scores, to_transitions
