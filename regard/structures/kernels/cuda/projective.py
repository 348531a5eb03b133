"""Launches of Eisner's algorithm on CUDA: one kernel for the marginals, one for their backward pass."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.structures.kernels.cuda.launching import Launcher, aligned, on_device_of, packed, power_of_two
from regard.structures.kernels.cuda.projective_outside import projective_kernel

_trees = Launcher(projective_kernel)


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    arcs = aligned(arcs)
    log_z = arcs.new_empty(arcs.shape[0])
    _launch(arcs, lengths, single_root, log_z=log_z)
    return log_z


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    arcs = aligned(arcs)
    out = torch.zeros_like(arcs)
    _launch(arcs, lengths, single_root, out=out)
    return out


def covariance(arcs: Tensor, lengths: Tensor | None, single_root: bool, gradient: Tensor) -> Tensor:
    arcs, gradient = aligned(arcs), aligned(gradient)
    out = torch.zeros_like(arcs)
    _launch(arcs, lengths, single_root, out=out, gradient=gradient)
    return out


def _launch(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, *,
    out: Tensor | None = None, gradient: Tensor | None = None, log_z: Tensor | None = None,
) -> None:  # fmt: skip
    """Results that are None are not computed: Triton compiles a kernel without them."""
    B, size, _ = arcs.shape
    charts = arcs.new_empty(B, 5, size, size, dtype=torch.float64)
    masses = None if out is None else arcs.new_empty(B, 3, size, size)
    scores = None if gradient is None else arcs.new_empty(B, 5, size, size)
    rates = None if gradient is None else arcs.new_empty(B, 3, size, size)
    with on_device_of(arcs):
        _trees(
            (B,), arcs, packed(lengths), gradient, charts, scores, masses, rates, out, log_z, size,
            SINGLE=single_root, OUTSIDE=out is not None, TANGENT=gradient is not None, **options(size),
        )  # fmt: skip


@cache
def options(size: int) -> dict[str, Any]:
    """ITEMS × PARTS is the tile of one step: the number of spans, and of their splits, at a time."""
    parts = min(32, power_of_two(size, 8))
    items = min(64, power_of_two(size, 8))
    # One stage, because software pipelining would move loads ahead of the barriers.
    return {"ITEMS": items, "PARTS": parts, "num_warps": 4 if size <= 32 else 8, "num_stages": 1}
