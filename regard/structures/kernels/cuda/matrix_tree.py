# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The matrix-tree theorem on CUDA in double precision, one sentence per program; see `kernels/spanning`.

All matrices are transposed: X[h, m] = L⁻¹[m, h], so that the slope at arc h → m has the index of W[h, m].
Words count from 0.

L is inverted in place by Gauss-Jordan elimination, from the last word to the first and without pivoting. The
diagonal of every column is at least the sum of its other entries, which elimination preserves. The first row,
which for a single root holds the root weights, comes last, and its pivot is a sum of positive terms. The
largest entry, including inverse pivots, tells whether the digits can be trusted.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.arithmetic import length_of


@triton.jit
def _weights(arcs, h, m, n, N, AXIS: tl.constexpr):
    """W[h, m] and the root's weights, relative to the column maxima, and the maxima; heads along AXIS."""
    size = N + 1
    allowed = (h < n) & (m < n) & (h != m)
    x = tl.load(arcs + (h + 1) * size + m + 1, mask=allowed, other=float("-inf")).to(tl.float64)
    root = tl.load(arcs + m + 1, mask=m < n, other=float("-inf")).to(tl.float64)
    best = tl.maximum(tl.max(x, AXIS, keep_dims=True), root)
    best = tl.where(best == float("-inf"), 0.0, best)
    return tl.exp(x - best), tl.exp(root - best), best


@triton.jit
def _turned_laplacian(W, root, h, m, n, SINGLE: tl.constexpr):
    """Lᵀ[m, h], modifiers in rows."""
    degree = tl.sum(W, 1, keep_dims=True)
    if not SINGLE:
        degree += root
    L = tl.where(h == m, degree, -W)
    if SINGLE:
        L = tl.where(h == 0, root, L)
    return L


@triton.jit
def _slopes(X, h, m, SINGLE: tl.constexpr):
    """∂ log Z / ∂W[h, m] and that for the root's weights (1, m), from X or, by linearity, its change."""
    own = tl.sum(tl.where(h == m, X, 0.0), 0, keep_dims=True)
    if SINGLE:
        root = tl.sum(tl.where(h == 0, X, 0.0), 0, keep_dims=True)
        slope = tl.where(m > 0, own, 0.0) - tl.where(h > 0, X, 0.0)
    else:
        root = own
        slope = own - X
    return slope, root


@triton.jit(do_not_specialize=["N"])
def inverse_kernel(
    arcs, lengths, out, inverses, log_z, largest, N, SINGLE: tl.constexpr, BLOCK: tl.constexpr
):
    """Marginals in `out` (B, N+1, N+1) and X in `inverses` (B, N, N), or log_z (B,); and the largest entry (B,)."""
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, N)
    arcs += b * (N + 1) * (N + 1)
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    W, root, best = _weights(arcs, c, r, n, N, 1)
    X = _turned_laplacian(W, root, c, r, n, SINGLE)
    worst = tl.zeros([1, 1], tl.float64)
    log_det = tl.sum(tl.where(r < n, best, 0.0), 0, keep_dims=True)
    for step in range(n):
        k = n - 1 - step
        column = tl.sum(tl.where(c == k, X, 0.0), 1, keep_dims=True)
        row = tl.sum(tl.where(r == k, X, 0.0), 0, keep_dims=True)
        pivot = tl.sum(tl.where(r == k, column, 0.0), 0, keep_dims=True)
        inverse = 1.0 / pivot
        scaled = tl.where(c == k, inverse, row * inverse)
        X = tl.where(r == k, scaled, tl.where(c == k, 0.0, X) - column * scaled)
        log_det += tl.log(tl.abs(pivot))
        worst = tl.maximum(worst, tl.where(pivot > 0, inverse, float("inf")))
    known = (r < n) & (c < n)
    entry = tl.max(tl.max(tl.where(known, tl.abs(X), 0.0), 1, keep_dims=True), 0, keep_dims=True)
    # The maximum ignores NaN, the sum does not.
    total = tl.sum(tl.sum(tl.where(known, X, 0.0), 1, keep_dims=True), 0, keep_dims=True)
    worst = tl.where(total == total, tl.maximum(worst, entry), float("inf"))
    one = tl.zeros([1, 1], tl.int64)
    tl.store(largest + b + one, worst)
    if log_z is not None:
        tl.store(log_z + b + one, log_det.to(log_z.dtype.element_ty))
    if out is not None:
        out += b * (N + 1) * (N + 1)
        tl.store(inverses + b * N * N + r * N + c, tl.where(known, X, 0.0), mask=(r < N) & (c < N))
        W, root, best = _weights(arcs, r, c, n, N, 0)
        slope, of_root = _slopes(X, r, c, SINGLE)
        _store(out, W * slope, root * of_root, r, c, known, n, N)


@triton.jit
def _store(out, words, root, h, m, known, n, N):
    """Rows of the words and of the root symbol; zeros beyond the length and in column 0."""
    size = N + 1
    tl.store(out + (h + 1) * size + m + 1, tl.where(known, words, 0.0), mask=(h < N) & (m < N))
    tl.store(out + m + 1, tl.where(m < n, root, 0.0), mask=m < N)
    tl.store(out + (h + 1) * size, tl.zeros_like(h).to(tl.float32), mask=h < N)
    tl.store(out + h * 0, tl.zeros_like(h).to(tl.float32), mask=h == 0)


@triton.jit
def _moved(gains, W, root, h, m, n, N):
    """G where W, or the root's weight, is positive: a gradient may be infinite at impossible arcs."""
    size = N + 1
    gain = tl.load(gains + (h + 1) * size + m + 1, mask=(h < n) & (m < n) & (W > 0), other=0.0).to(tl.float64)
    of_root = tl.load(gains + m + 1, mask=(m < n) & (root > 0), other=0.0).to(tl.float64)
    return gain, of_root


@triton.jit(do_not_specialize=["N"])
def change_kernel(arcs, lengths, gains, change, N, SINGLE: tl.constexpr, BLOCK: tl.constexpr):
    """dLᵀ (B, N, N) along the gains: L is linear in W, which changes by W ⊙ G."""
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, N)
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    W, root, _ = _weights(arcs + b * (N + 1) * (N + 1), c, r, n, N, 1)
    gain, of_root = _moved(gains + b * (N + 1) * (N + 1), W, root, c, r, n, N)
    dL = _turned_laplacian(W * gain, root * of_root, c, r, n, SINGLE)
    dL = tl.where((r < n) & (c < n), dL, 0.0)
    tl.store(change + b * N * N + r * N + c, dL, mask=(r < N) & (c < N))


@triton.jit(do_not_specialize=["N"])
def covariance_kernel(
    arcs, lengths, gains, inverses, products, out, N, SINGLE: tl.constexpr, BLOCK: tl.constexpr
):
    """W ⊙ (slopes(X) ⊙ G − slopes(X dLᵀ X))."""
    b = tl.program_id(0).to(tl.int64)
    n = length_of(lengths, b, N)
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    known = (r < n) & (c < n)
    W, root, _ = _weights(arcs + b * (N + 1) * (N + 1), r, c, n, N, 0)
    gain, of_root = _moved(gains + b * (N + 1) * (N + 1), W, root, r, c, n, N)
    X = tl.load(inverses + b * N * N + r * N + c, mask=known, other=0.0)
    Y = tl.load(products + b * N * N + r * N + c, mask=known, other=0.0)
    slope, root_slope = _slopes(X, r, c, SINGLE)
    lost, root_lost = _slopes(Y, r, c, SINGLE)
    words, first = W * (slope * gain - lost), root * (root_slope * of_root - root_lost)
    _store(out + b * (N + 1) * (N + 1), words, first, r, c, known, n, N)
