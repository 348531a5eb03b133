# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Segments on the CPU: the recursions of `two_states` on edges that are built for one chain at a time.

A chain is one row of scores. Batches and single queries of a decoder (see `choices`) use the same functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu import two_states
from regard.structures.kernels.cpu.arguments import ZERO, addresses, contiguous, lengths_at, view, whole
from regard.structures.kernels.cpu.chain_covariance import one_chain
from regard.structures.kernels.cpu.compilation import inlined, kernel, part
from regard.structures.kernels.cpu.parallel import over_batch

Array = NDArray[Any]


class SegmentRoom(NamedTuple):
    """Scratch for one chain of at most N positions: its initial scores (1, 2) and edges (1, 4(N−1)), and the
    scratch of `two_states.one_chain`.
    """

    init: Array
    edges: Array
    best: Array
    prefixes: Array
    sums: Array


class RoomBack(NamedTuple):
    """Scratch for the backward pass: p(z_0), its gradient and its change, each (1, 2); G of the edges,
    replaced by their change (1, 4(N−1)); and the scratch of `chain_covariance.one_chain`.
    """

    states: Array
    gains: Array
    moved: Array
    change: Array
    before: Array
    mean: Array


@part
def room_for(N: int, zero: Any) -> SegmentRoom:
    edges = np.full((1, 4 * max(N - 1, 0)), zero)
    return SegmentRoom(np.full((1, 2), zero), edges, np.empty(N), np.empty((N, 2)), np.empty((N, 2)))


@part
def room_back_for(N: int, zero: Any) -> RoomBack:
    states, gains, moved = np.full((1, 2), zero), np.full((1, 2), zero), np.empty((1, 2))
    return RoomBack(
        states, gains, moved, np.full((1, 4 * max(N - 1, 0)), zero), np.empty((N, 2)), np.empty(N)
    )


@inlined
def inside_of(
    scores: Array, between: Array, b: int, length: int, init: Array, edges: Array, best: Array, prefixes: Array,
    sums: Array, pairs: Array, inside: Array, place: int,
) -> None:  # fmt: skip
    """scores[b] (N), transitions between[b] (4) → p(z_n = 1) into inside[place] (N), and the marginals of pairs into
    pairs[place].

    The arguments are whole arrays, and each array of the room: numba would count references to a row, or to
    an array taken from a tuple, for every chain.
    """
    for k in range(1, length):
        edges[0, 4 * k - 4], edges[0, 4 * k - 2] = between[b, 0], between[b, 2]
        edges[0, 4 * k - 3], edges[0, 4 * k - 1] = between[b, 1] + scores[b, k], between[b, 3] + scores[b, k]
    init[0, 1] = scores[b, 0]
    inside[place, 0] = two_states.one_chain(init, edges, 0, length, pairs, place, best, prefixes, sums)[1]
    for k in range(1, inside.shape[1]):
        inside[place, k] = pairs[place, 4 * k - 3] + pairs[place, 4 * k - 1]


@inlined
def change_of(
    gradient: Array, b: int, inside: Array, pairs: Array, place: int, length: int, states: Array, gains: Array,
    moved: Array, change: Array, before: Array, mean: Array, to_scores: Array, to_between: Array, row: int,
) -> None:  # fmt: skip
    """G[b] (N) and the results of `inside_of` at `place` → the gradients of the scores, written to
    to_scores[b] (N), and of the transitions, added to to_between[row] (4).
    """
    # p(z_0 = 0). State 0 has no gain, so the gradients below do not depend on it.
    states[0, 0] = pairs[place, 0] + pairs[place, 1] if length > 1 else 1.0 - inside[place, 0]
    states[0, 1], gains[0, 1] = inside[place, 0], gradient[b, 0]
    for k in range(1, length):
        change[0, 4 * k - 4], change[0, 4 * k - 2] = 0.0, 0.0
        change[0, 4 * k - 3], change[0, 4 * k - 1] = gradient[b, k], gradient[b, k]
    one_chain(pairs, place, length, states, gains, change, 0, before, mean, moved, change)
    to_scores[b, 0] = moved[0, 1]
    t00, t01, t10, t11 = 0.0, 0.0, 0.0, 0.0
    for k in range(1, to_scores.shape[1]):
        c01, c11 = change[0, 4 * k - 3], change[0, 4 * k - 1]
        to_scores[b, k] = c01 + c11
        t00, t01 = t00 + change[0, 4 * k - 4], t01 + c01
        t10, t11 = t10 + change[0, 4 * k - 2], t11 + c11
    to_between[row, 0] += t00
    to_between[row, 1] += t01
    to_between[row, 2] += t10
    to_between[row, 3] += t11


@kernel
def _marginals(
    B: int, N: int, zero: Any, scores: int, transitions: int, lengths: int, inside: int, joints: int,
    first: int, last: int,
) -> None:  # fmt: skip
    """Arguments: the shape (B, N); a zero of the dtype; the addresses of the inputs (see `kernels/segments`)
    and of the results, the marginals of positions (B, N) and of pairs (B, N−1, 2, 2); and a range of chains.
    """
    given, between, n = view(scores, (B, N), zero), view(transitions, (B, 4), zero), lengths_at(lengths, B, N)
    position, pairs = view(inside, (B, N), zero), view(joints, (B, 4 * (N - 1)), zero)
    init, edges, best, prefixes, sums = room_for(N, zero)
    for b in range(first, last):
        inside_of(given, between, b, n[b], init, edges, best, prefixes, sums, pairs, position, b)


@kernel
def _covariance(
    B: int, N: int, zero: Any, gradient: int, inside: int, joints: int, lengths: int, to_scores: int,
    to_transitions: int, first: int, last: int,
) -> None:  # fmt: skip
    """As `_marginals`, with the addresses of G (B, N), both marginals, the lengths and the results."""
    g, n = view(gradient, (B, N), zero), lengths_at(lengths, B, N)
    position, pairs = view(inside, (B, N), zero), view(joints, (B, 4 * (N - 1)), zero)
    out, between = view(to_scores, (B, N), zero), view(to_transitions, (B, 4), zero)
    states, gains, moved, change, before, mean = room_back_for(N, zero)
    for b in range(first, last):
        for i in range(4):
            between[b, i] = 0.0
        change_of(
            g, b, position, pairs, b, n[b], states, gains, moved, change, before, mean, out, between, b
        )  # fmt: skip


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
