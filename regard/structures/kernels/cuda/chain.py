"""Launches of the chain kernels on CUDA: scans for two states, sweeps for more."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from regard.structures.kernels.cuda import chain_sweeps, two_states

LONGEST_SCAN = 4096  # positions of a two-state chain held by one program; longer ones are swept


def log_partition(init: Tensor, edges: Tensor, lengths: Tensor) -> Tensor:
    init, edges = init.contiguous(), edges.contiguous()
    B, N, C = _sizes(edges)
    log_z = init.new_empty(B)
    with torch.cuda.device_of(edges):
        if _scanned(N, C):
            two_states.log_partition_kernel[(B,)](init, edges, lengths, log_z, N, **scan_options(N))
        else:
            tops = _tops(edges, N, C)
            chain_sweeps.sweep_kernel[(B, 1)](
                init, edges, tops, lengths, init, init, log_z, N, C, KEEP=False, **sweep_options(C)
            )
    return log_z


def marginals(init: Tensor, edges: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    init, edges = init.contiguous(), edges.contiguous()
    B, N, C = _sizes(edges)
    states, joints = torch.empty_like(init), torch.empty_like(edges)
    with torch.cuda.device_of(edges):
        if _scanned(N, C):
            two_states.marginals_kernel[(B,)](init, edges, lengths, states, joints, N, **scan_options(N))
            return states, joints
        alpha, beta = edges.new_empty(2, B, N, C).unbind(0)
        tops = _tops(edges, N, C)
        chain_sweeps.sweep_kernel[(B, 2)](
            init, edges, tops, lengths, alpha, beta, init.new_empty(B), N, C, KEEP=True, **sweep_options(C)
        )
        options, grid = edge_options(B, N, C)
        chain_sweeps.marginals_kernel[grid](
            edges, tops, lengths, alpha, beta, states, joints, N, C, **options
        )
    return states, joints


def covariance(
    states: Tensor, joints: Tensor, lengths: Tensor, g_states: Tensor, g_edges: Tensor
) -> tuple[Tensor, Tensor]:
    g_states, g_edges = g_states.contiguous(), g_edges.contiguous()
    B, N, C = _sizes(joints)
    out_states, out_edges = torch.empty_like(states), torch.empty_like(joints)
    with torch.cuda.device_of(joints):
        if _scanned(N, C):
            two_states.covariance_kernel[(B,)](
                states, joints, lengths, g_states, g_edges, out_states, out_edges, N, **scan_options(N)
            )
            return out_states, out_edges
        before, after = joints.new_empty(2, B, N, C).unbind(0)
        chain_sweeps.carry_kernel[(B, 2)](
            states, joints, lengths, g_states, g_edges, before, after, N, C, **carry_options(C)
        )
        options, grid = edge_options(B, N, C)
        chain_sweeps.covariance_kernel[grid](
            states, joints, lengths, g_states, g_edges, before, after, out_states, out_edges, N, C, **options
        )
    return out_states, out_edges


def _tops(edges: Tensor, N: int, C: int) -> Tensor:
    tops = edges.new_empty(edges.shape[:2])
    options, grid = edge_options(edges.shape[0], N, C)
    chain_sweeps.tops_kernel[grid](edges, tops, N, C, **options)
    return tops


def _sizes(edges: Tensor) -> tuple[int, int, int]:
    return edges.shape[0], edges.shape[1] + 1, edges.shape[2]


def _scanned(N: int, C: int) -> bool:
    return C == 2 and N <= LONGEST_SCAN


def scan_options(N: int) -> dict[str, Any]:
    block = max(16, triton.next_power_of_2(N))
    return {"BLOCK": block, "num_warps": min(16, max(1, block // 64))}


def sweep_options(C: int) -> dict[str, Any]:
    block = max(4, triton.next_power_of_2(C))
    return {"BLOCK": block, "num_warps": {4: 1, 8: 1, 16: 1, 32: 4, 64: 8}.get(block, 16), "num_stages": 1}


def carry_options(C: int) -> dict[str, Any]:
    return sweep_options(C)


def edge_options(B: int, N: int, C: int) -> tuple[dict[str, Any], tuple[int, int]]:
    """Options and grid of the kernels that take each edge by itself."""
    block = max(4, triton.next_power_of_2(C))
    steps = 16 if block <= 8 else 4 if block <= 32 else 1
    options = {"BLOCK": block, "STEPS": steps, "num_warps": {4: 1, 8: 1, 16: 1, 32: 2, 64: 4}.get(block, 8)}
    return options, (B, max(1, triton.cdiv(N - 1, steps)))
