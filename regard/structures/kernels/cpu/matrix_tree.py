# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The matrix-tree theorem on the processor, one sentence at a time; the mathematics is in `kernels/spanning`.

Matrices are indexed by words from 0, word m of the sentence being m − 1 here; W has a row more, for the root symbol.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.exponential import exp_nonpositive
from regard.structures.kernels.cpu.parallel import arrays, full_lengths, over_batch

Array = NDArray[Any]


@kernel
def _weigh(arcs: Array, n: int, W: Array, best: Array) -> float:
    """W[h, m − 1] = exp(arcs[h, m] − the best of the column); returns what was taken from all columns."""
    for m in range(n):
        best[m] = -np.inf
    for h in range(n + 1):
        for m in range(n):
            x = arcs[h, m + 1] if h != m + 1 else -np.inf
            best[m] = x if x > best[m] else best[m]
    taken = 0.0
    for m in range(n):
        best[m] = best[m] if best[m] > -np.inf else 0.0
        taken += best[m]
    for h in range(n + 1):
        for m in range(n):
            W[h, m] = exp_nonpositive(arcs[h, m + 1] - best[m])
        if h > 0:
            W[h, h - 1] = 0.0
    return taken


@kernel
def _laplacian(W: Array, n: int, single_root: bool, L: Array) -> None:
    for h in range(n):
        for m in range(n):
            L[h, m] = -W[h + 1, m]
    for m in range(n):
        L[m, m] = 0.0 if single_root else W[0, m]
    for h in range(n):
        for m in range(n):
            L[m, m] += W[h + 1, m]
    if single_root:
        for m in range(n):
            L[0, m] = W[0, m]


@kernel
def _invert(A: Array, n: int, swaps: Array) -> tuple[float, float]:
    """Gauss and Jordan's elimination in place; returns log |det A| (−inf if singular) and the largest entry of the
    inverse.
    """
    log_determinant = 0.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        swaps[k] = pivot
        if not abs(A[pivot, k]) > 0.0:
            return -np.inf, np.inf
        log_determinant += math.log(abs(A[pivot, k]))
        if pivot != k:
            for j in range(n):
                A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        scale = 1.0 / A[k, k]
        A[k, k] = 1.0
        for j in range(n):
            A[k, j] *= scale
        for i in range(n):
            if i != k and A[i, k] != 0.0:
                factor = A[i, k]
                A[i, k] = 0.0
                _subtract(A[i, :n], factor, A[k, :n])
    for k in range(n - 1, -1, -1):
        if swaps[k] != k:
            for i in range(n):
                A[i, k], A[i, swaps[k]] = A[i, swaps[k]], A[i, k]
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
    return log_determinant, largest


@kernel
def _subtract(row: Array, factor: float, other: Array) -> None:
    for j in range(row.shape[0]):
        row[j] -= factor * other[j]


@kernel
def _slope(inverse: Array, h: int, m: int, single_root: bool) -> float:
    """∂ log Z / ∂W[h, m] from L⁻¹, h counted from the root symbol and m from the first word."""
    if not single_root:
        return inverse[m, m] if h == 0 else inverse[m, m] - inverse[m, h - 1]
    if h == 0:
        return inverse[m, 0]
    own = inverse[m, m] if m > 0 else 0.0
    return own - inverse[m, h - 1] if h > 1 else own


@kernel
def _log_partition(
    arcs: Array, lengths: Array, single_root: bool, result: Array, largest: Array, first: int, last: int
) -> None:
    size = arcs.shape[1]
    W, L = np.empty((size, size)), np.empty((size, size))
    swaps, best = np.empty(size, np.int64), np.empty(size)
    for b in range(first, last):
        n = lengths[b]
        taken = _weigh(arcs[b], n, W, best)
        _laplacian(W, n, single_root, L)
        value, largest[b] = _invert(L, n, swaps)
        result[b] = value + taken


@kernel
def _marginals(
    arcs: Array,
    lengths: Array,
    single_root: bool,
    result: Array,
    kept: Array,
    largest: Array,
    first: int,
    last: int,
) -> None:
    """`result` (B, N+1, N+1) and `kept` (B, 2N+1, N), for L⁻¹ and below it W, come zeroed."""
    size = arcs.shape[1]
    swaps, best = np.empty(size, np.int64), np.empty(size)
    for b in range(first, last):
        n = lengths[b]
        inverse, W = kept[b, : size - 1], kept[b, size - 1 :]
        _weigh(arcs[b], n, W, best)
        _laplacian(W, n, single_root, inverse)
        _, largest[b] = _invert(inverse, n, swaps)
        for h in range(n + 1):
            for m in range(n):
                result[b, h, m + 1] = W[h, m] * _slope(inverse, h, m, single_root)


@kernel
def _changes(
    lengths: Array, single_root: bool, gains: Array, kept: Array, change: Array, first: int, last: int
) -> None:
    """dL (B, N, N) along the gains, which comes zeroed."""
    size = gains.shape[1]
    moved = np.empty((size, size))
    for b in range(first, last):
        n = lengths[b]
        W = kept[b, size - 1 :]
        for h in range(n + 1):
            for m in range(n):
                moved[h, m] = W[h, m] * gains[b, h, m + 1] if W[h, m] > 0.0 else 0.0
        _laplacian(moved, n, single_root, change[b])


def _products(inverses: Tensor, change: Tensor, products: Tensor, first: int, last: int) -> None:
    """L⁻¹ dL L⁻¹."""
    inverse = inverses[first:last]
    torch.bmm(torch.bmm(inverse, change[first:last]), inverse, out=products[first:last])


@kernel
def _covariance(
    lengths: Array, single_root: bool, gains: Array, kept: Array, products: Array, result: Array,
    first: int, last: int,
) -> None:  # fmt: skip
    """W ⊙ (slopes(L⁻¹) ⊙ G − slopes(L⁻¹ dL L⁻¹)), the products being given; `result` comes zeroed."""
    size = gains.shape[1]
    for b in range(first, last):
        n = lengths[b]
        inverse, W = kept[b, : size - 1], kept[b, size - 1 :]
        for h in range(n + 1):
            for m in range(n):
                if W[h, m] > 0.0:
                    slope = gains[b, h, m + 1] * _slope(inverse, h, m, single_root)
                    result[b, h, m + 1] = W[h, m] * (slope - _slope(products[b], h, m, single_root))


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """log Z and the largest entry of each inverse."""
    result, largest = torch.empty(2, arcs.shape[0], dtype=torch.float64)
    a, z, g = arrays(arcs, result, largest)
    n = full_lengths(lengths, arcs.shape[0], arcs.shape[1] - 1)
    over_batch(_log_partition, arcs.shape[0], arcs.shape[1] ** 3, a, n, single_root, z, g)
    return result.to(arcs.dtype), largest


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals, what the backward pass needs (B, 2N+1, N), and the largest entry of each inverse."""
    B, size, _ = arcs.shape
    result = torch.zeros(arcs.shape, dtype=arcs.dtype)
    kept = torch.zeros(B, 2 * size - 1, size - 1, dtype=torch.float64)
    largest = torch.empty(B, dtype=torch.float64)
    a, z, k, g = arrays(arcs, result, kept, largest)
    n = full_lengths(lengths, B, size - 1)
    over_batch(_marginals, B, size**3, a, n, single_root, z, k, g)
    return result, kept, largest


def covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, kept: Tensor, gradient: Tensor
) -> Tensor:
    B, size, _ = arcs.shape
    change = torch.zeros(B, size - 1, size - 1, dtype=torch.float64)
    products, result = torch.empty_like(change), torch.zeros(arcs.shape, dtype=arcs.dtype)
    g, k, d, p, z = arrays(gradient, kept, change, products, result)
    n = full_lengths(lengths, B, size - 1)
    over_batch(_changes, B, size**2, n, single_root, g, k, d)
    over_batch(_products, B, size**3 // 4, kept[:, : size - 1].detach(), change, products)
    over_batch(_covariance, B, size**2, n, single_root, g, k, p, z)
    return result
