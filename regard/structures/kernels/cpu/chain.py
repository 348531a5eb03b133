"""Linear chains on the CPU: call the kernels for two states, or those for any number of states."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.cpu import log_chain, two_states
from regard.structures.kernels.cpu.arguments import ZERO, addresses, contiguous, whole
from regard.structures.kernels.cpu.chain_covariance import covariance as any_covariance
from regard.structures.kernels.cpu.chain_covariance import two_state_covariance
from regard.structures.kernels.cpu.parallel import over_batch


def log_partition(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
    result = edges.new_empty(edges.shape[0])
    _ask(
        two_states.log_partition if edges.shape[-1] == 2 else log_chain.log_partition,
        init,
        edges,
        lengths,
        result,
    )
    return result


def marginals(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    states, joints = edges.new_empty(edges.shape[0], edges.shape[-1]), edges.new_empty(edges.shape)
    function = two_states.marginals if edges.shape[-1] == 2 else log_chain.marginals
    _ask(function, init, edges, lengths, states, joints)
    return states, joints


def covariance(
    states: Tensor,
    joints: Tensor,
    lengths: Tensor | None,
    g_states: Tensor | None,
    g_edges: Tensor,
    from_init: bool = True,
) -> tuple[Tensor | None, Tensor]:
    states, joints = contiguous(states), contiguous(joints)
    out_states, out_edges = states.new_empty(states.shape), joints.new_empty(joints.shape)
    function = two_state_covariance if states.shape[1] == 2 else any_covariance
    _ask(function, g_states, g_edges, lengths, states, joints, out_states, out_edges)
    return out_states if from_init else None, out_edges


def mode(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    scores = edges.new_empty(edges.shape[0])
    path = edges.new_empty((edges.shape[0], edges.shape[1] + 1), dtype=torch.int64)
    _ask(log_chain.mode, init, edges, lengths, scores, path)
    return scores, path


def _ask(
    function: Callable[..., Any], init: Tensor | None, edges: Tensor, lengths: Tensor | None, *others: Tensor
) -> None:
    """Call a kernel with the shape, the dtype and the addresses of the tensors (0 for a missing one)."""
    B, steps, C, _ = edges.shape
    init = None if init is None else contiguous(init)
    edges, lengths = contiguous(edges), whole(lengths)
    places = addresses(init, edges, lengths, *others)
    over_batch(function, B, steps * C * C, B, steps, C, ZERO[edges.dtype], *places)
