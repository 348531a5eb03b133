"""Launches of the chain kernels on CUDA: scans for two states, sweeps for more."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.cuda import chain_sweeps, two_states
from regard.structures.kernels.cuda.launching import on_device_of, packed, power_of_two

LONGEST_SCAN = 4096  # positions of a two-state chain held by one program; longer ones are swept
TOPS_FROM = 64  # width of a tile from which the largest score of each edge is found beforehand


def log_partition(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
    init, edges, lengths = _dense(init, edges, lengths)
    B, N, C = _sizes(edges)
    log_z = edges.new_empty(B)
    with on_device_of(edges):
        if _scanned(N, C):
            two_states.log_partition_kernel[(B,)](init, edges, lengths, log_z, N, **scan_options(N))
        else:
            tops = _tops(edges, N, C)
            chain_sweeps.sweep_kernel[(B, 1)](
                init, edges, tops, lengths, None, None, log_z, N, C, **sweep_options(C)
            )
    return log_z


def marginals(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    init, edges, lengths = _dense(init, edges, lengths)
    B, N, C = _sizes(edges)
    states, joints = edges.new_empty(B, C), torch.empty_like(edges)
    with on_device_of(edges):
        if _scanned(N, C):
            two_states.marginals_kernel[(B,)](
                init, edges, None, lengths, states, joints, N, **scan_options(N)
            )
            return states, joints
        messages = edges.new_empty(2, B, N, C)
        tops = _tops(edges, N, C)
        alpha, beta = messages[0], messages[1]
        chain_sweeps.sweep_kernel[(B, 2)](
            init, edges, tops, lengths, alpha, beta, None, N, C, **sweep_options(C)
        )
        options, grid = edge_options(B, N, C)
        chain_sweeps.marginals_kernel[grid](edges, lengths, alpha, beta, states, joints, N, C, **options)
    return states, joints


def covariance(
    states: Tensor,
    joints: Tensor,
    lengths: Tensor | None,
    g_states: Tensor | None,
    g_edges: Tensor,
    from_init: bool = True,
) -> tuple[Tensor | None, Tensor]:
    g_states, g_edges, lengths = _dense(g_states, g_edges, lengths)
    B, N, C = _sizes(joints)
    out_states, out_edges = torch.empty_like(states) if from_init else None, torch.empty_like(joints)
    with on_device_of(joints):
        if _scanned(N, C):
            two_states.covariance_kernel[(B,)](
                states, joints, lengths, g_states, g_edges, out_states, out_edges, N, SEGMENTS=False, **scan_options(N)
            )  # fmt: skip
            return out_states, out_edges
        carried = joints.new_empty(2, B, N, C)
        before, after = carried[0], carried[1]
        chain_sweeps.carry_kernel[(B, 2)](
            states, joints, lengths, g_states, g_edges, before, after, N, C, **carry_options(C)
        )
        options, grid = edge_options(B, N, C)
        chain_sweeps.covariance_kernel[grid](
            states, joints, lengths, g_edges, before, after, out_states, out_edges, N, C, **options
        )
    return out_states, out_edges


def _dense(
    first: Tensor | None, edges: Tensor, lengths: Tensor | None
) -> tuple[Tensor | None, Tensor, Tensor | None]:
    return None if first is None else first.contiguous(), edges.contiguous(), packed(lengths)


def _tops(edges: Tensor, N: int, C: int) -> Tensor | None:
    """The largest score of each edge (B, N−1); None where the tile is small enough to find it on the way."""
    if C < TOPS_FROM // 2 + 1:
        return None
    tops = edges.new_empty(edges.shape[:2])
    options, grid = edge_options(edges.shape[0], N, C)
    chain_sweeps.tops_kernel[grid](edges, tops, N, C, **options)
    return tops


def _sizes(edges: Tensor) -> tuple[int, int, int]:
    B, steps, C, _ = edges.shape
    return B, steps + 1, C


def _scanned(N: int, C: int) -> bool:
    return C == 2 and N <= LONGEST_SCAN


@cache
def scan_options(N: int) -> dict[str, Any]:
    block = power_of_two(N, 16)
    return {"BLOCK": block, "num_warps": min(16, max(1, block // 64))}


@cache
def sweep_options(C: int) -> dict[str, Any]:
    block = power_of_two(C, 4)
    return {"BLOCK": block, "num_warps": {4: 1, 8: 1, 16: 1, 32: 4, 64: 8}.get(block, 16), "num_stages": 1}


def carry_options(C: int) -> dict[str, Any]:
    return sweep_options(C)


@cache
def edge_options(B: int, N: int, C: int) -> tuple[dict[str, Any], tuple[int, int]]:
    """Options and grid of the kernels that take each edge by itself."""
    block = power_of_two(C, 4)
    steps = 16 if block <= 8 else 4 if block <= 32 else 1
    options = {"BLOCK": block, "STEPS": steps, "num_warps": {4: 1, 8: 1, 16: 1, 32: 2, 64: 4}.get(block, 8)}
    return options, (B, max(1, -(-(N - 1) // steps)))
