"""The matrix-tree theorem in batched torch operations, for devices and sizes without a kernel."""

from __future__ import annotations

import torch
from torch import Tensor


def full_lengths(arcs: Tensor, lengths: Tensor | None) -> Tensor:
    """Lengths (B,); None means that all sentences have the maximum length."""
    if lengths is not None:
        return lengths
    return torch.full((arcs.shape[0],), arcs.shape[-1] - 1, dtype=torch.int64, device=arcs.device)


def weigh(arcs: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """W (B, N+1, N) in double precision, zero beyond the length, and the sum of the column maxima (B,)."""
    size = arcs.shape[-1]
    position = torch.arange(size, device=arcs.device)
    word = position <= lengths[:, None]  # (B, N+1)
    allowed = word[:, :, None] & word[:, None, 1:] & (position[:, None] != position[1:])
    scores = torch.where(allowed, arcs[:, :, 1:].double(), -torch.inf)
    best = scores.detach().amax(1, keepdim=True)
    best = torch.where(best > -torch.inf, best, 0.0)
    return (scores - best).exp(), best.sum((1, 2))


def laplacian(W: Tensor, lengths: Tensor | None, single_root: bool) -> Tensor:
    """L (B, N, N), linear in W. If lengths are given, the diagonal is 1 beyond them."""
    words = W[:, 1:]
    degree = words.sum(1) if single_root else W.sum(1)
    if lengths is not None:
        beyond = torch.arange(1, W.shape[-1] + 1, device=W.device) > lengths[:, None]
        degree = degree + beyond
    L = torch.diag_embed(degree) - words
    if single_root:
        first = W[:, :1]
        if lengths is not None:
            # A sentence without words has no first row to replace.
            first = torch.where(lengths[:, None, None] > 0, first, L[:, :1])
        L = torch.cat([first, L[:, 1:]], 1)
    return L


def slopes(inverse: Tensor, single_root: bool) -> Tensor:
    """∂ log Z / ∂W (B, N+1, N) from L⁻¹. The map is linear, so it also applies to dL⁻¹."""
    turned = inverse.transpose(1, 2)  # [h, m] = L⁻¹[m, h]
    own = turned.diagonal(dim1=1, dim2=2).unsqueeze(1)  # L⁻¹[m, m]
    if not single_root:
        return torch.cat([own, own - turned], 1)
    N = inverse.shape[-1]
    later = (torch.arange(N, device=inverse.device) > 0).to(inverse.dtype)
    return torch.cat([turned[:, :1], own * later - turned * later[:, None]], 1)


def invert(W: Tensor, lengths: Tensor, single_root: bool) -> tuple[Tensor, Tensor]:
    """L⁻¹ (B, N, N) and its largest entry (B,)."""
    inverse = torch.linalg.inv_ex(laplacian(W, lengths, single_root))[0]
    return inverse, inverse.abs().flatten(1).amax(1) if inverse.numel() else inverse.new_zeros(len(inverse))


def tangent(W: Tensor, inverse: Tensor, single_root: bool, gradient: Tensor) -> Tensor:
    """Derivative of the marginals along G, (B, N+1, N+1): W ⊙ (slopes(L⁻¹) ⊙ G − slopes(L⁻¹ dL L⁻¹))."""
    gain = torch.where(W > 0, gradient[:, :, 1:].double(), 0.0)
    change = laplacian(W * gain, None, single_root)
    slope = slopes(inverse, single_root) * gain - slopes(inverse @ change @ inverse, single_root)
    return torch.nn.functional.pad(W * slope, (1, 0)).to(gradient.dtype)


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """log Z and the largest entry of each inverse."""
    known = full_lengths(arcs, lengths)
    W, shift = weigh(arcs, known)
    L = laplacian(W, known, single_root)
    return (torch.linalg.slogdet(L)[1] + shift).to(arcs.dtype), invert(W, known, single_root)[1]


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals, the inverses, and the largest entry of each inverse."""
    known = full_lengths(arcs, lengths)
    W, _ = weigh(arcs, known)
    inverse, largest = invert(W, known, single_root)
    return torch.nn.functional.pad(W * slopes(inverse, single_root), (1, 0)).to(arcs.dtype), inverse, largest


def covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, inverse: Tensor, gradient: Tensor
) -> Tensor:
    W, _ = weigh(arcs, full_lengths(arcs, lengths))
    return tangent(W, inverse, single_root, gradient)
