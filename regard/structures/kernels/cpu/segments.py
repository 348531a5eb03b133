# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Segments on the processor: the recursions of `two_states` on edges written where their results will stand."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu import two_states
from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.parallel import arrays, full_lengths, over_batch

Array = NDArray[Any]


@kernel
def _marginals(
    scores: Array, transitions: Array, lengths: Array, inside: Array, joints: Array, first: int, last: int
) -> None:
    """`inside` (B, N) and `joints` (B, N−1, 2, 2) come zeroed."""
    init, states = np.zeros((1, 2), scores.dtype), np.zeros((1, 2), scores.dtype)
    for b in range(first, last):
        length = lengths[b]
        for n in range(length - 1):
            joints[b, n, 0, 0], joints[b, n, 1, 0] = transitions[b, 0, 0], transitions[b, 1, 0]
            joints[b, n, 0, 1] = transitions[b, 0, 1] + scores[b, n + 1]
            joints[b, n, 1, 1] = transitions[b, 1, 1] + scores[b, n + 1]
        init[0, 1] = scores[b, 0]
        states[0, 1] = 0.0
        # The forward recursion reads an edge before it writes its result there.
        own = joints[b : b + 1]
        two_states.marginals(init, own, lengths[b : b + 1], states, own, 0, 1)
        inside[b, 0] = states[0, 1]
        for n in range(length - 1):
            inside[b, n + 1] = joints[b, n, 0, 1] + joints[b, n, 1, 1]


@kernel
def _covariance(
    inside: Array, joints: Array, lengths: Array, gradient: Array, to_scores: Array, to_transitions: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    states, gains = np.zeros((1, 2), inside.dtype), np.zeros((1, 2), inside.dtype)
    moved = np.zeros((1, 2), inside.dtype)
    change = np.empty((1, joints.shape[1], 2, 2), inside.dtype)
    for b in range(first, last):
        length = lengths[b]
        if length == 0:
            continue
        states[0, 1], gains[0, 1] = inside[b, 0], gradient[b, 0]
        # State 0 has no gain, so its weight is not asked for where the chain has edges; alone it is the rest.
        states[0, 0] = 1.0 - inside[b, 0] if length == 1 else joints[b, 0, 0, 0] + joints[b, 0, 0, 1]
        for n in range(length - 1):
            change[0, n, 0, 0], change[0, n, 1, 0] = 0.0, 0.0
            change[0, n, 0, 1], change[0, n, 1, 1] = gradient[b, n + 1], gradient[b, n + 1]
        two_states.covariance(
            joints[b : b + 1], lengths[b : b + 1], states, gains, change, moved, change, 0, 1
        )
        to_scores[b, 0] = moved[0, 1]
        for n in range(length - 1):
            to_scores[b, n + 1] = change[0, n, 0, 1] + change[0, n, 1, 1]
            for i in range(2):
                for j in range(2):
                    to_transitions[b, i, j] += change[0, n, i, j]


def marginals(scores: Tensor, transitions: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    B, N = scores.shape
    inside = torch.zeros(B, N, dtype=scores.dtype)
    joints = torch.zeros(B, N - 1, 2, 2, dtype=scores.dtype)
    s, t = arrays(scores, transitions)
    over_batch(_marginals, B, 16 * N, s, t, full_lengths(lengths, B, N), inside.numpy(), joints.numpy())
    return inside, joints


def covariance(
    inside: Tensor, joints: Tensor, lengths: Tensor | None, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    B, N = inside.shape
    to_scores = torch.zeros(B, N, dtype=inside.dtype)
    to_transitions = torch.zeros(B, 2, 2, dtype=inside.dtype)
    p, q, g = arrays(inside, joints, gradient)
    n = full_lengths(lengths, B, N)
    over_batch(_covariance, B, 16 * N, p, q, n, g, to_scores.numpy(), to_transitions.numpy())
    return to_scores, to_transitions
