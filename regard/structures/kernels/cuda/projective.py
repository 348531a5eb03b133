"""Launches of Eisner's algorithm on CUDA: one kernel for the marginals, one for their backward pass."""

from __future__ import annotations

from typing import Any

import torch
import triton
from torch import Tensor

from regard.structures.kernels.cuda.projective_outside import projective_kernel


def log_partition(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    arcs = arcs.contiguous()
    log_z = arcs.new_empty(arcs.shape[0])
    _launch(arcs, lengths, single_root, log_z=log_z)
    return log_z


def marginals(arcs: Tensor, lengths: Tensor, single_root: bool) -> Tensor:
    arcs = arcs.contiguous()
    out = torch.zeros_like(arcs)
    _launch(arcs, lengths, single_root, out=out)
    return out


def covariance(arcs: Tensor, lengths: Tensor, single_root: bool, gradient: Tensor) -> Tensor:
    arcs, gradient = arcs.contiguous(), gradient.contiguous()
    out = torch.zeros_like(arcs)
    _launch(arcs, lengths, single_root, out=out, gradient=gradient)
    return out


def _launch(
    arcs: Tensor, lengths: Tensor, single_root: bool, *,
    out: Tensor | None = None, gradient: Tensor | None = None, log_z: Tensor | None = None,
) -> None:  # fmt: skip
    """What is not asked for is given `arcs` in its place: the kernel compiled for the question does not touch it."""
    B, size, _ = arcs.shape
    charts = arcs.new_empty(B, 5, size, size, dtype=torch.float64)
    masses = arcs if out is None else arcs.new_empty(B, 3, size, size)
    scores = arcs if gradient is None else arcs.new_empty(B, 5, size, size)
    rates = arcs if gradient is None else arcs.new_empty(B, 3, size, size)
    with torch.cuda.device_of(arcs):
        projective_kernel[(B,)](
            arcs,
            lengths,
            arcs if gradient is None else gradient,
            charts,
            scores,
            masses,
            rates,
            arcs if out is None else out,
            arcs if log_z is None else log_z,
            size,
            SINGLE=single_root,
            OUTSIDE=out is not None,
            TANGENT=gradient is not None,
            **options(size),
        )


def options(size: int) -> dict[str, Any]:
    """ITEMS × PARTS is the tile of one step: so many spans, so many of their splits at once."""
    parts = min(32, max(8, triton.next_power_of_2(size)))
    items = min(64, max(8, triton.next_power_of_2(size)))
    # Loads must not be moved ahead of the barriers, as software pipelining would.
    return {"ITEMS": items, "PARTS": parts, "num_warps": 4 if size <= 32 else 8, "num_stages": 1}
