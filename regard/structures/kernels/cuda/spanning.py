"""Launches of the matrix-tree theorem on CUDA."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.cuda import matrix_tree
from regard.structures.kernels.cuda.launching import Launcher, aligned, on_device_of, packed, power_of_two

_inverse = Launcher(matrix_tree.inverse_kernel)
_change = Launcher(matrix_tree.change_kernel)
_covariance = Launcher(matrix_tree.covariance_kernel)


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """log Z and the largest number in each inversion."""
    arcs, lengths = aligned(arcs), packed(lengths)
    B, N = arcs.shape[0], arcs.shape[1] - 1
    log_z, largest = arcs.new_empty(B), arcs.new_empty(B, dtype=torch.float64)
    with on_device_of(arcs):
        _inverse((B,), arcs, lengths, None, None, log_z, largest, N, SINGLE=single_root, **options(N))
    return log_z, largest


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals, the transposed inverses, and the largest number in each inversion."""
    arcs, lengths = aligned(arcs), packed(lengths)
    B, N = arcs.shape[0], arcs.shape[1] - 1
    out, inverses = torch.empty_like(arcs), arcs.new_empty(B, N, N, dtype=torch.float64)
    largest = arcs.new_empty(B, dtype=torch.float64)
    with on_device_of(arcs):
        _inverse((B,), arcs, lengths, out, inverses, None, largest, N, SINGLE=single_root, **options(N))
    return out, inverses, largest


def covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, inverses: Tensor, gradient: Tensor
) -> Tensor:
    arcs, lengths, gradient = aligned(arcs), packed(lengths), aligned(gradient)
    B, N = arcs.shape[0], arcs.shape[1] - 1
    change, out = torch.empty_like(inverses), torch.empty_like(arcs)
    with on_device_of(arcs):
        _change((B,), arcs, lengths, gradient, change, N, SINGLE=single_root, **options(N))
        products = torch.bmm(torch.bmm(inverses, change), inverses)
        _covariance(
            (B,), arcs, lengths, gradient, inverses, products, out, N, SINGLE=single_root, **options(N)
        )
    return out


@cache
def options(N: int) -> dict[str, Any]:
    block = power_of_two(N, 16)
    return {"BLOCK": block, "num_warps": {16: 1, 32: 4, 64: 8}.get(block, 16), "num_stages": 1}
