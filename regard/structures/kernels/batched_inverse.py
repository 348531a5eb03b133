"""The matrix-tree theorem in batched operations of torch, for any device: where no kernel fits."""

from __future__ import annotations

import torch
from torch import Tensor

from regard.structures.kernels.spanning import full_lengths, invert, laplacian, slopes, tangent, weigh


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """log Z and the largest entry of each inverse."""
    known = full_lengths(arcs, lengths)
    W, shift = weigh(arcs, known)
    L = laplacian(W, known, single_root)
    return (torch.linalg.slogdet(L)[1] + shift).to(arcs.dtype), invert(W, known, single_root)[1]


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals, the inverses, and the largest entry of each."""
    known = full_lengths(arcs, lengths)
    W, _ = weigh(arcs, known)
    inverse, largest = invert(W, known, single_root)
    return torch.nn.functional.pad(W * slopes(inverse, single_root), (1, 0)).to(arcs.dtype), inverse, largest


def covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, inverse: Tensor, gradient: Tensor
) -> Tensor:
    W, _ = weigh(arcs, full_lengths(arcs, lengths))
    return tangent(W, inverse, single_root, gradient)
