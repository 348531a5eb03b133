"""Launches of segments on CUDA: the scans of `two_states`, or general chains for long sequences."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.kernels.cuda import chain, two_states
from regard.structures.kernels.cuda.launching import Launcher, aligned, on_device_of, packed

_marginals = Launcher(two_states.marginals_kernel)
_covariance = Launcher(two_states.covariance_kernel)


def marginals(scores: Tensor, transitions: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    scores, transitions, lengths = aligned(scores), aligned(transitions), packed(lengths)
    B, N = scores.shape
    if N > chain.LONGEST_SCAN:
        nodes = torch.stack([torch.zeros_like(scores), scores], -1)
        edges = transitions.unsqueeze(1) + nodes[:, 1:].unsqueeze(-2)
        first, joints = chain.marginals(nodes[:, 0], edges, lengths)
        return torch.cat([first[:, 1:], joints[..., 1].sum(-1)], -1), joints
    inside, joints = torch.empty_like(scores), scores.new_empty(B, N - 1, 2, 2)
    with on_device_of(scores):
        _marginals((B,), None, scores, transitions, lengths, inside, joints, N, **chain.scan_options(N))
    return inside, joints


def covariance(
    inside: Tensor, joints: Tensor, lengths: Tensor | None, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    inside, joints, gradient, lengths = aligned(inside), aligned(joints), aligned(gradient), packed(lengths)
    B, N = inside.shape
    if N > chain.LONGEST_SCAN:
        states = torch.stack([1 - inside[:, 0], inside[:, 0]], -1)
        gains = torch.stack([torch.zeros_like(gradient), gradient], -1)
        spread = gains[:, 1:].unsqueeze(-2).expand(joints.shape)
        to_first, to_edges = chain.covariance(states, joints, lengths, gains[:, 0], spread)
        to_scores = torch.empty_like(inside)
        torch.sum(to_edges[..., 1], -1, out=to_scores[:, 1:])
        to_scores[:, 0] = 0.0 if to_first is None else to_first[:, 1]
        return to_scores, to_edges.sum(1)
    to_scores, to_transitions = torch.empty_like(inside), inside.new_empty(B, 2, 2)
    with on_device_of(inside):
        given = (inside, joints, lengths, None, gradient, to_scores, to_transitions, N)
        _covariance((B,), *given, SEGMENTS=True, **chain.scan_options(N))
    return to_scores, to_transitions
