"""Segments through fast kernels: a chain of two states with a score for each position, over a flat batch.

    score(z) = Σ_n scores[n] z_n + Σ_n transitions[z_n, z_{n+1}],  z_n ∈ {0, 1}

- scores: (B, N); N is at least 2
- transitions: (B, 2, 2), possibly one expanded matrix
- lengths: (B,) int64, from 0 to N; None: all N

The kernel builds the edges of the chain itself. The backward pass keeps the marginals of positions and pairs,
which determine the gradient (see `chain`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.availability import once
from regard.structures.kernels.batching import join_batch, signed
from regard.structures.kernels.operators import differentiable, seen_whole


def segment_marginals(scores: Tensor, transitions: Tensor, lengths: Tensor | None) -> Tensor:
    """p(z_n = 1), (B, N); zeros beyond the length and where no path is possible."""
    inside: Tensor = _marginals(scores, transitions, lengths)[0]
    return inside


def _backend(tensor: Tensor) -> Any:
    if tensor.is_cuda:
        from regard.structures.kernels.cuda import segments as on_cuda

        return on_cuda
    from regard.structures.kernels.cpu import segments as on_cpu

    return on_cpu


@seen_whole(
    "segment_covariance",
    "(Tensor inside, Tensor joints, Tensor? lengths, Tensor gradient) -> (Tensor, Tensor)",
    lambda inside, joints, lengths, gradient: (
        inside.new_empty(inside.shape),
        inside.new_empty(inside.shape[0], 2, 2),
    ),
)
def _covariance(
    inside: Tensor, joints: Tensor, lengths: Tensor | None, gradient: Tensor
) -> tuple[Tensor, Tensor]:
    to_scores, to_transitions = _backend(inside).covariance(inside, joints, lengths, gradient)
    return to_scores, to_transitions


class _Marginals(torch.autograd.Function):
    """The marginals of positions, and the marginals of pairs for the backward pass."""

    @staticmethod
    @signed
    def forward(scores: Tensor, transitions: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        inside, joints = _backend(scores).marginals(scores, transitions, lengths)
        return inside, joints

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*output, inputs[2])

    @staticmethod
    @once
    def backward(ctx: Any, gradient: Tensor | None, *_: Any) -> tuple[Tensor | None, Tensor | None, None]:
        if gradient is None:
            return None, None, None
        inside, joints, lengths = ctx.saved_tensors
        return *_covariance(inside, joints, lengths, gradient), None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_Marginals.apply, info.batch_size, in_dims, arguments)


_marginals = differentiable(
    "segment_marginals",
    "(Tensor scores, Tensor transitions, Tensor? lengths) -> (Tensor, Tensor)",
    _Marginals,
    lambda scores, transitions, lengths: (
        scores.new_empty(scores.shape),
        scores.new_empty(scores.shape[0], scores.shape[1] - 1, 2, 2),
    ),
)
