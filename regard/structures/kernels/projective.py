"""Projective dependency trees through fast kernels: log-partition, marginals and best tree over a flat batch.

    score(tree) = Σ_m arcs[head(m), m]

- arcs: (B, N+1, N+1); arcs[b, h, m] scores h as the head of m; position 0 is the root symbol, so column 0 and the
  diagonal are ignored, as are all entries beyond the length
- lengths: (B,) int64, the number of words, from 0 to N; None: all N; a sentence of no words has log-partition 0 and
  no arcs
- single_root: whether exactly one word hangs from the root symbol

The gradient of the log-partition is the marginals M. The gradient of the marginals is M ⊙ (E[G-score | arc] −
E[G-score]), computed by one more inside-outside pass. The backward passes keep only the arcs. Each sentence
takes O(N³) time and O(N²) memory.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.availability import once
from regard.structures.kernels.batching import join_batch, signed
from regard.structures.kernels.operators import differentiable, seen_whole, through_cpu


def projective_log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """log Σ_tree exp score(tree), (B,); −inf where no tree is possible. Differentiable twice."""
    value: Tensor = _log_partition(arcs, lengths, single_root)
    return value


def projective_marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """p(h is the head of m), (B, N+1, N+1); zeros where no tree is possible."""
    value: Tensor = _marginals(arcs, lengths, single_root)
    return value


def projective_mode(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """The best score (B,), without gradient, and heads (B, N+1) int64.

    A head is −1 for the root symbol, beyond the length, and where no tree is possible.
    """
    scores, heads = _mode(arcs, lengths, single_root)
    return scores, heads


def _backend(tensor: Tensor) -> Any:
    if tensor.is_cuda:
        from regard.structures.kernels.cuda import projective as on_cuda

        return on_cuda
    from regard.structures.kernels.cpu import projective as on_cpu

    return on_cpu


_GIVEN = "(Tensor arcs, Tensor? lengths, bool single_root)"


@seen_whole(
    "projective_mode",
    f"{_GIVEN} -> (Tensor, Tensor)",
    lambda arcs, lengths, single_root: (
        arcs.new_empty(arcs.shape[0]),
        arcs.new_empty(arcs.shape[:2], dtype=torch.int64),
    ),
)
def _mode(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    from regard.structures.kernels.cpu.projective import mode

    scores, heads = through_cpu(mode, arcs, lengths, single_root)
    return scores, heads


@seen_whole(
    "projective_covariance",
    "(Tensor arcs, Tensor? lengths, bool single_root, Tensor gradient) -> Tensor",
    lambda arcs, *_: arcs.new_empty(arcs.shape),
)
def _covariance(arcs: Tensor, lengths: Tensor | None, single_root: bool, gradient: Tensor) -> Tensor:
    value: Tensor = _backend(arcs).covariance(arcs, lengths, single_root, gradient)
    return value


class _LogPartition(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
        value: Tensor = _backend(arcs).log_partition(arcs, lengths, single_root)
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.save_for_backward(arcs, lengths)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        arcs, lengths = ctx.saved_tensors
        return gradient[:, None, None] * _marginals(arcs, lengths, ctx.single_root), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_LogPartition.apply, info.batch_size, in_dims, arguments)


class _Marginals(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
        value: Tensor = _backend(arcs).marginals(arcs, lengths, single_root)
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        arcs, lengths, ctx.single_root = inputs
        ctx.save_for_backward(arcs, lengths)

    @staticmethod
    @once
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        arcs, lengths = ctx.saved_tensors
        return _covariance(arcs, lengths, ctx.single_root, gradient), None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_Marginals.apply, info.batch_size, in_dims, arguments)


_log_partition = differentiable(
    "projective_log_partition",
    f"{_GIVEN} -> Tensor",
    _LogPartition,
    lambda arcs, lengths, single_root: arcs.new_empty(arcs.shape[0]),
)


_marginals = differentiable(
    "projective_marginals",
    f"{_GIVEN} -> Tensor",
    _Marginals,
    lambda arcs, lengths, single_root: arcs.new_empty(arcs.shape),
)
