"""Launches of the chain kernels on CUDA: scans for two states, one kernel for a few, sweeps for more."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.cuda import chain_narrow, chain_sweeps, two_states
from regard.structures.kernels.cuda.launching import Launcher, aligned, on_device_of, packed, power_of_two

LONGEST_SCAN = 4096  # positions of a two-state chain that one program holds; longer chains use sweeps
NARROW = 16  # tile width up to which one program runs a whole chain in both directions
WIDE = 64  # tile width from which the maxima of all edges are computed before the sweeps

_scan_log_partition = Launcher(two_states.log_partition_kernel)
_scan_marginals = Launcher(two_states.marginals_kernel)
_scan_covariance = Launcher(two_states.covariance_kernel)
_narrow_marginals = Launcher(chain_narrow.marginals_kernel)
_narrow_covariance = Launcher(chain_narrow.covariance_kernel)
_tops = Launcher(chain_sweeps.tops_kernel)
_sweep = Launcher(chain_sweeps.sweep_kernel)
_edge_marginals = Launcher(chain_sweeps.marginals_kernel)
_gains = Launcher(chain_sweeps.gains_kernel)
_carry = Launcher(chain_sweeps.carry_kernel)
_edge_covariance = Launcher(chain_sweeps.covariance_kernel)


def log_partition(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> Tensor:
    init, edges, lengths = _dense(init, edges, lengths)
    B, N, C = _sizes(edges)
    log_z = edges.new_empty(B)
    with on_device_of(edges):
        if _scanned(N, C):
            _scan_log_partition((B,), init, edges, lengths, log_z, N, **scan_options(N))
        else:
            found = _looked_over(edges, N, C)
            _sweep((B, 1), init, edges, *found, lengths, None, None, log_z, N, C=C, **sweep_options(C))
    return log_z


def marginals(init: Tensor | None, edges: Tensor, lengths: Tensor | None) -> tuple[Tensor, Tensor]:
    init, edges, lengths = _dense(init, edges, lengths)
    B, N, C = _sizes(edges)
    states, joints = edges.new_empty(B, C), torch.empty_like(edges)
    with on_device_of(edges):
        if _scanned(N, C):
            _scan_marginals((B,), init, edges, None, lengths, states, joints, N, **scan_options(N))
            return states, joints
        if power_of_two(C, 4) <= NARROW:
            room = edges.new_empty(B, 2, N, C)
            _narrow_marginals((B,), init, edges, lengths, room, states, joints, N, C=C, **narrow_options(C))
            return states, joints
        alpha, beta = edges.new_empty(B, N, C), edges.new_empty(B, N, C)
        found = _looked_over(edges, N, C)
        _sweep((B, 2), init, edges, *found, lengths, alpha, beta, None, N, C=C, **sweep_options(C))
        options, grid = edge_options(B, N, C)
        _edge_marginals(grid, edges, lengths, alpha, beta, states, joints, N, C=C, **options)
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
    states, joints = aligned(states), aligned(joints)
    B, N, C = _sizes(joints)
    out_states, out_edges = torch.empty_like(states) if from_init else None, torch.empty_like(joints)
    with on_device_of(joints):
        if _scanned(N, C):
            given = (states, joints, lengths, g_states, g_edges, out_states, out_edges, N)
            _scan_covariance((B,), *given, SEGMENTS=False, **scan_options(N))
            return out_states, out_edges
        if power_of_two(C, 4) <= NARROW:
            room = joints.new_empty(B, 2, N, C)
            both = (states, joints, lengths, g_states, g_edges, room, out_states, out_edges, N)
            _narrow_covariance((B,), *both, C=C, **narrow_options(C))
            return out_states, out_edges
        options, grid = edge_options(B, N, C)
        gains = None
        if _wide(C):
            gains = joints.new_empty(4, B, N - 1, C)
            _gains(grid, joints, g_edges, gains, N, C=C, **options)
        before, after = joints.new_empty(B, N, C), joints.new_empty(B, N, C)
        _carry(
            (B, 2), states, joints, lengths, g_states, g_edges, gains, before, after, N, C=C, **carry_options(C)
        )  # fmt: skip
        _edge_covariance(
            grid, states, joints, lengths, g_edges, before, after, out_states, out_edges, N, C=C, **options
        )
    return out_states, out_edges


def _dense(
    first: Tensor | None, edges: Tensor, lengths: Tensor | None
) -> tuple[Tensor | None, Tensor, Tensor | None]:
    return None if first is None else aligned(first), aligned(edges), packed(lengths)


def _looked_over(edges: Tensor, N: int, C: int) -> tuple[Tensor | None, Tensor | None]:
    """The maxima of each edge and of its columns and rows; None for small tiles: sweeps compute theirs."""
    if not _wide(C):
        return None, None
    B = len(edges)
    tops, ceilings = edges.new_empty(B, N - 1), edges.new_empty(2, B, N - 1, C)
    options, grid = edge_options(B, N, C)
    _tops(grid, edges, tops, ceilings, N, C=C, **options)
    return tops, ceilings


def _wide(C: int) -> bool:
    return power_of_two(C, 4) >= WIDE


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
def narrow_options(C: int) -> dict[str, Any]:
    block = power_of_two(C, 4)
    return {
        "BLOCK": block,
        "STEPS": 512 // block**2 * 2,
        "num_warps": 1 if block < 16 else 2,
        "num_stages": 1,
    }


@cache
def sweep_options(C: int) -> dict[str, Any]:
    block = power_of_two(C, 4)
    return {"BLOCK": block, "num_warps": {4: 1, 8: 1, 16: 1, 32: 4, 64: 8}.get(block, 16), "num_stages": 1}


def carry_options(C: int) -> dict[str, Any]:
    return sweep_options(C)


@cache
def edge_options(B: int, N: int, C: int) -> tuple[dict[str, Any], tuple[int, int]]:
    """Options and grid of the kernels that process edges independently."""
    block = power_of_two(C, 4)
    steps = 16 if block <= 8 else 4 if block <= 32 else 1
    options = {"BLOCK": block, "STEPS": steps, "num_warps": {4: 1, 8: 1, 16: 1, 32: 2, 64: 4}.get(block, 8)}
    return options, (B, max(1, -(-(N - 1) // steps)))
