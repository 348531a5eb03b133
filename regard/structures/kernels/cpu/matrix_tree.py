# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The matrix-tree theorem on the CPU, one sentence at a time; the mathematics is in `kernels/spanning`.

Matrices are indexed by words from 0: word m of the sentence has index m − 1. W has one more row, for the root
symbol.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from regard.structures.kernels.cpu.arguments import arrays, full_lengths
from regard.structures.kernels.cpu.compilation import kernel, part
from regard.structures.kernels.cpu.exponential import exp_nonpositive
from regard.structures.kernels.cpu.parallel import over_batch

Array = NDArray[Any]


@part
def _weigh(arcs: Array, b: int, n: int, W: Array, best: Array) -> float:
    """W[h, m − 1] = exp(arcs[h, m] − maximum of the column); returns the sum of the maxima."""
    for m in range(n):
        best[m] = -np.inf
    for h in range(n + 1):
        for m in range(n):
            x = float(arcs[b, h, m + 1])
            x = x if h != m + 1 else -np.inf
            best[m] = x if x > best[m] else best[m]
    taken = 0.0
    for m in range(n):
        best[m] = best[m] if best[m] > -np.inf else 0.0
        taken += best[m]
    for h in range(n + 1):
        for m in range(n):
            W[h, m] = exp_nonpositive(arcs[b, h, m + 1] - best[m])
        if h > 0:
            W[h, h - 1] = 0.0
    return taken


@part
def _laplacian(W: Array, n: int, single_root: bool, L: Array) -> None:
    """Write the transpose of L, so that the rows of its inverse correspond to rows of W."""
    for m in range(n):
        for h in range(n):
            L[m, h] = -W[h + 1, m]
        L[m, m] = 0.0 if single_root else W[0, m]
    for h in range(n):
        for m in range(n):
            L[m, m] += W[h + 1, m]
    if single_root:
        for m in range(n):
            L[m, 0] = W[0, m]


@part
def _pivot(A: Array, n: int, k: int, ratio: float, swaps: Array) -> float:
    """Swap the row i ≥ k with the largest |A[i, k] − A[i, k − 1] · ratio| into row k; returns that entry."""
    place, largest = k, -1.0
    for i in range(k, n):
        x = abs(A[i, k] - A[i, k - 1] * ratio) if ratio != 0.0 else abs(A[i, k])
        if x > largest:
            place, largest = i, x
    swaps[k] = place
    if place != k:
        for j in range(n):
            A[k, j], A[place, j] = A[place, j], A[k, j]
    return A[k, k] - A[k, k - 1] * ratio if ratio != 0.0 else A[k, k]


@part
def _eliminate(A: Array, n: int, k: int, a: float, d: float, rows: Array) -> None:
    """Steps k and k + 1 of Gauss-Jordan elimination in place, with pivots a and d. Each row is read and
    written once for both steps. For an odd n the last step is taken alone. The pivot rows are computed in
    `rows`.
    """
    last = 1 if k + 1 == n else 2
    b = A[k, k + 1] if last == 2 else 0.0
    c = A[k + 1, k] / a if last == 2 else 0.0
    for j in range(n):
        rows[0, j] = A[k, j] if j != k else 1.0
        rows[1, j] = 0.0
    if last == 2:
        rows[0, k + 1] = 0.0
        for j in range(n):
            x = A[k + 1, j] if j != k else 0.0
            rows[1, j] = ((x if j != k + 1 else 1.0) - c * rows[0, j]) / d
    for j in range(n):
        rows[0, j] = (rows[0, j] - b * rows[1, j]) / a
    for i in range(n):
        factor, other = A[i, k], A[i, k + 1] if last == 2 else 0.0
        A[i, k] = 0.0
        if last == 2:
            A[i, k + 1] = 0.0
        for j in range(n):
            A[i, j] = (A[i, j] - factor * rows[0, j]) - other * rows[1, j]
    for j in range(n):
        A[k, j] = rows[0, j]
    if last == 2:
        for j in range(n):
            A[k + 1, j] = rows[1, j]


@part
def _invert(A: Array, n: int, swaps: Array, rows: Array) -> tuple[float, float]:
    """Invert A in place; returns log |det A| (−inf if singular) and the largest entry of the inverse."""
    log_determinant = 0.0
    for k in range(0, n, 2):
        pivot = _pivot(A, n, k, 0.0, swaps)
        if not abs(pivot) > 0.0:
            return -np.inf, np.inf
        after = _pivot(A, n, k + 1, A[k, k + 1] / pivot, swaps) if k + 1 < n else 1.0
        if not abs(after) > 0.0:
            return -np.inf, np.inf
        log_determinant += math.log(abs(pivot)) + math.log(abs(after))
        _eliminate(A, n, k, pivot, after, rows)
    for k in range(n - 1, -1, -1):
        if swaps[k] != k:
            for i in range(n):
                A[i, k], A[i, swaps[k]] = A[i, swaps[k]], A[i, k]
    largest = 0.0
    for i in range(n):
        for j in range(n):
            x = abs(A[i, j])
            largest = largest if x <= largest else x
    return log_determinant, largest


@part
def _multiply(A: Array, B: Array, n: int, out: Array) -> None:
    """out = A B, two rows and four terms at a time; for an odd n the last row but one is computed twice."""
    for start in range(0, n, 2):
        i = max(min(start, n - 2), 0)
        r = min(i + 1, n - 1)
        for j in range(n):
            out[i, j], out[r, j] = 0.0, 0.0
        for k in range(0, n - 3, 4):
            a, b, c, d = A[i, k], A[i, k + 1], A[i, k + 2], A[i, k + 3]
            e, f, g, h = A[r, k], A[r, k + 1], A[r, k + 2], A[r, k + 3]
            for j in range(n):
                w, x, y, z = B[k, j], B[k + 1, j], B[k + 2, j], B[k + 3, j]
                out[i, j] = (((out[i, j] + a * w) + b * x) + c * y) + d * z
                out[r, j] = (((out[r, j] + e * w) + f * x) + g * y) + h * z
        for k in range(n - n % 4, n):
            a, e = A[i, k], A[r, k]
            for j in range(n):
                x, z = B[k, j], out[i, j] + a * B[k, j]
                out[r, j] += e * x
                out[i, j] = z


@part
def _take_diagonal(turned: Array, n: int, single_root: bool, own: Array) -> None:
    for m in range(n):
        own[m] = turned[m, m]
    if single_root and n > 0:
        own[0] = 0.0


@part
def _slope(turned: Array, own: Array, h: int, m: int, single_root: bool) -> float:
    """∂ log Z / ∂W[h, m] from the transpose of L⁻¹ and its diagonal, h counted from the root symbol and m from the
    first word.
    """
    if h == 0:
        return turned[0, m] if single_root else own[m]
    return own[m] if single_root and h == 1 else own[m] - turned[h - 1, m]


@kernel
def _log_partition(
    arcs: Array, lengths: Array, single_root: bool, result: Array, largest: Array, first: int, last: int
) -> None:
    size = arcs.shape[1]
    W, L = np.empty((size, size)), np.empty((size, size))
    swaps, best, rows = np.empty(size, np.int64), np.empty(size), np.empty((2, size))
    for b in range(first, last):
        n = lengths[b]
        taken = _weigh(arcs, b, n, W, best)
        _laplacian(W, n, single_root, L)
        value, largest[b] = _invert(L, n, swaps, rows)
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
    """`result` (B, N+1, N+1) must be zero. `kept` (B, 2N+1, N) becomes L⁻¹ transposed, then W; what is beyond the
    length is not written."""
    size = arcs.shape[1]
    swaps, best, rows = np.empty(size, np.int64), np.empty(size), np.empty((2, size))
    for b in range(first, last):
        n = lengths[b]
        inverse, W = kept[b, : size - 1], kept[b, size - 1 :]
        _weigh(arcs, b, n, W, best)
        _laplacian(W, n, single_root, inverse)
        _, largest[b] = _invert(inverse, n, swaps, rows)
        _take_diagonal(inverse, n, single_root, best)
        for h in range(n + 1):
            for m in range(n):
                result[b, h, m + 1] = W[h, m] * _slope(inverse, best, h, m, single_root)


@kernel
def _covariance(
    lengths: Array, single_root: bool, gains: Array, kept: Array, result: Array, first: int, last: int
) -> None:
    """W ⊙ (slopes(L⁻¹) ⊙ G − slopes(L⁻¹ dL L⁻¹)), with dL the change of L along G; `result` must be zero."""
    size = gains.shape[1]
    moved, change, product = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    own, own_change = np.empty(size), np.empty(size)
    for b in range(first, last):
        n = lengths[b]
        inverse, W = kept[b, : size - 1], kept[b, size - 1 :]
        for h in range(n + 1):
            for m in range(n):
                x = W[h, m] * gains[b, h, m + 1]
                moved[h, m] = x if W[h, m] > 0.0 else 0.0
        _laplacian(moved, n, single_root, change)
        _multiply(inverse, change, n, product)
        _multiply(product, inverse, n, change)
        _take_diagonal(inverse, n, single_root, own)
        _take_diagonal(change, n, single_root, own_change)
        for h in range(n + 1):
            for m in range(n):
                slope = moved[h, m] * _slope(inverse, own, h, m, single_root)
                result[b, h, m + 1] = slope - W[h, m] * _slope(change, own_change, h, m, single_root)


def log_partition(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor]:
    """log Z and the largest entry of each inverse."""
    result, largest = (torch.empty(arcs.shape[0], dtype=torch.float64) for _ in range(2))
    a, z, g = arrays(arcs, result, largest)
    n = full_lengths(lengths, arcs.shape[0], arcs.shape[1] - 1)
    over_batch(_log_partition, arcs.shape[0], arcs.shape[1] ** 3, a, n, single_root, z, g)
    return result.to(arcs.dtype), largest


def marginals(arcs: Tensor, lengths: Tensor | None, single_root: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The marginals, `kept` (B, 2N+1, N) for the backward pass, and the largest entry of each inverse."""
    B, size, _ = arcs.shape
    result = torch.zeros(arcs.shape, dtype=arcs.dtype)
    kept = torch.empty(B, 2 * size - 1, size - 1, dtype=torch.float64)
    largest = torch.empty(B, dtype=torch.float64)
    a, z, k, g = arrays(arcs, result, kept, largest)
    n = full_lengths(lengths, B, size - 1)
    over_batch(_marginals, B, size**3, a, n, single_root, z, k, g)
    return result, kept, largest


def covariance(
    arcs: Tensor, lengths: Tensor | None, single_root: bool, kept: Tensor, gradient: Tensor
) -> Tensor:
    B, size, _ = arcs.shape
    result = torch.zeros(arcs.shape, dtype=arcs.dtype)
    g, k, z = arrays(gradient, kept, result)
    over_batch(_covariance, B, size**3, full_lengths(lengths, B, size - 1), single_root, g, k, z)
    return result
