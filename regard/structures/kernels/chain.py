"""Linear chains through fast kernels: log-partition, marginals and best path over a flat batch.

    score(z) = init[z_0] + Σ_n edges[n, z_n, z_{n+1}]

- init: (B, C) scores the first state; None: all 0
- edges: (B, N−1, C, C); edges[b, n, i, j] scores state i at n followed by j at n+1; ignored beyond the length
- lengths: (B,) int64, from 0 to N; None: all N; a chain of length 0 has log-partition 0 and no parts

The backward passes keep only the inputs or the marginals. The gradient of the log-partition is the marginals
M. The gradient of the marginals is M ⊙ (E[G-score | part] − E[G-score]), which follows from M alone.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.availability import once
from regard.structures.kernels.batching import join_batch, signed
from regard.structures.kernels.operators import differentiable, seen_whole, through_cpu


def chain_log_partition(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
    """log Σ_z exp score(z), (B,); −inf where no path is possible. Differentiable twice."""
    value: Tensor = _log_partition(init, edges, lengths)
    return value


def chain_marginals(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """p(z_0 = i), (B, C), and p(z_n = i, z_{n+1} = j), (B, N−1, C, C); zeros where no path is possible."""
    states, joints = _marginals(init, edges, lengths)
    return states, joints


def chain_mode(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    """The best score (B,), without gradient, and its states (B, N) int64.

    A state is −1 beyond the length and where no path is possible.
    """
    scores, states = _mode(init, edges, lengths)
    return scores, states


def _backend(tensor: Tensor) -> Any:
    if tensor.is_cuda:
        from regard.structures.kernels.cuda import chain as on_cuda

        return on_cuda
    from regard.structures.kernels.cpu import chain as on_cpu

    return on_cpu


_GIVEN = "(Tensor? init, Tensor edges, Tensor? lengths)"


@seen_whole(
    "chain_mode",
    f"{_GIVEN} -> (Tensor, Tensor)",
    lambda init, edges, lengths: (
        edges.new_empty(edges.shape[0]),
        edges.new_empty((edges.shape[0], edges.shape[1] + 1), dtype=torch.int64),
    ),
)
def _mode(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    from regard.structures.kernels.cpu.chain import mode

    scores, states = through_cpu(mode, init, edges, lengths)
    return scores, states


@seen_whole(
    "chain_covariance",
    "(Tensor states, Tensor joints, Tensor? lengths, Tensor? g_states, Tensor g_edges) -> (Tensor, Tensor)",
    lambda states, joints, *_: (states.new_empty(states.shape), joints.new_empty(joints.shape)),
)
def _covariance(
    states: Tensor, joints: Tensor, lengths: Tensor | None, g_states: Tensor | None, g_edges: Tensor
) -> tuple[Tensor, Tensor]:
    to_init, to_edges = _backend(joints).covariance(states, joints, lengths, g_states, g_edges)
    return to_init, to_edges


class _LogPartition(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
        value: Tensor = _backend(edges).log_partition(init, edges, lengths)
        return value

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor, None]:
        init, edges, lengths = ctx.saved_tensors
        states, joints = _marginals(init, edges, lengths)
        to_init = None if init is None else gradient[:, None] * states
        return to_init, gradient[:, None, None, None] * joints, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_LogPartition.apply, info.batch_size, in_dims, arguments)


class _Marginals(torch.autograd.Function):
    @staticmethod
    @signed
    def forward(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
        states, joints = _backend(edges).marginals(init, edges, lengths)
        return states, joints

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        init, _, lengths = inputs
        ctx.set_materialize_grads(False)
        ctx.from_init = init is not None
        ctx.save_for_backward(*output, lengths)

    @staticmethod
    @once
    def backward(
        ctx: Any, g_states: Tensor | None, g_edges: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None]:
        if g_states is None and g_edges is None:
            return None, None, None
        states, joints, lengths = ctx.saved_tensors
        g_edges = torch.zeros_like(joints) if g_edges is None else g_edges
        if ctx.from_init:
            return *_covariance(states, joints, lengths, g_states, g_edges), None
        return None, _covariance(states, joints, lengths, g_states, g_edges)[1], None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Any, Any]:
        return join_batch(_Marginals.apply, info.batch_size, in_dims, arguments)


_log_partition = differentiable(
    "chain_log_partition",
    f"{_GIVEN} -> Tensor",
    _LogPartition,
    lambda init, edges, lengths: edges.new_empty(edges.shape[0]),
)


_marginals = differentiable(
    "chain_marginals",
    f"{_GIVEN} -> (Tensor, Tensor)",
    _Marginals,
    lambda init, edges, lengths: (
        edges.new_empty(edges.shape[0], edges.shape[-1]),
        edges.new_empty(edges.shape),
    ),
)
