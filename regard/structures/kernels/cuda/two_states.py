# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The chain with two states (segments) on CUDA, as scans: log₂ N rounds instead of N steps, one program a chain.

Lane k holds the 2 × 2 matrices of edges k−1 and k+1. A scan of their log-products from the left gives α_k, from the
right β_{k+1}; lane 0 starts with the initial scores, lanes past the end hold the identity. Products are kept less
their largest entry. The backward pass scans affine maps v ↦ A v + c in the same way, A a matrix of conditional
probabilities: see `chain_sweeps`.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _log_add(x, y):
    top = tl.maximum(x, y)
    low = tl.minimum(x, y)
    safe = tl.where(top == float("-inf"), 0.0, top)
    return safe + tl.log(tl.exp(top - safe) + tl.exp(low - safe))


@triton.jit
def _log_product(a00, a01, a10, a11, b00, b01, b10, b11):
    c00 = _log_add(a00 + b00, a01 + b10)
    c01 = _log_add(a00 + b01, a01 + b11)
    c10 = _log_add(a10 + b00, a11 + b10)
    c11 = _log_add(a10 + b01, a11 + b11)
    return _lowered(c00, c01, c10, c11)


@triton.jit
def _log_product_reversed(a00, a01, a10, a11, b00, b01, b10, b11):
    return _log_product(b00, b01, b10, b11, a00, a01, a10, a11)


@triton.jit
def _scaled_log_product(a00, a01, a10, a11, a_scale, b00, b01, b10, b11, b_scale):
    c00 = _log_add(a00 + b00, a01 + b10)
    c01 = _log_add(a00 + b01, a01 + b11)
    c10 = _log_add(a10 + b00, a11 + b10)
    c11 = _log_add(a10 + b01, a11 + b11)
    top = _largest(c00, c01, c10, c11)
    return c00 - top, c01 - top, c10 - top, c11 - top, a_scale + b_scale + top.to(tl.float64)


@triton.jit
def _then(a00, a01, a10, a11, a0, a1, b00, b01, b10, b11, b0, b1):
    """The affine map a followed by b."""
    return (
        b00 * a00 + b01 * a10,
        b00 * a01 + b01 * a11,
        b10 * a00 + b11 * a10,
        b10 * a01 + b11 * a11,
        b00 * a0 + b01 * a1 + b0,
        b10 * a0 + b11 * a1 + b1,
    )


@triton.jit
def _load_matrix(pointer, n, known, diagonal, off):
    """Entries of the matrix of edge n where `known`, else the given diagonal and off-diagonal."""
    at = pointer + n * 4
    return (
        tl.load(at, mask=known, other=diagonal),
        tl.load(at + 1, mask=known, other=off),
        tl.load(at + 2, mask=known, other=off),
        tl.load(at + 3, mask=known, other=diagonal),
    )


@triton.jit
def _largest(m00, m01, m10, m11):
    top = tl.maximum(tl.maximum(m00, m01), tl.maximum(m10, m11))
    return tl.where(top == float("-inf"), 0.0, top)


@triton.jit
def _lowered(m00, m01, m10, m11):
    """Less the largest entry."""
    top = _largest(m00, m01, m10, m11)
    return m00 - top, m01 - top, m10 - top, m11 - top


@triton.jit
def _prefix_matrix(init, edges, b, k, last):
    """Lane 0: both rows the initial scores; lane k: edge k−1; past the end the identity."""
    negative: tl.constexpr = float("-inf")
    m00, m01, m10, m11 = _load_matrix(edges, k - 1, (k > 0) & (k <= last), 0.0, negative)
    zero, one = tl.load(init + b * 2), tl.load(init + b * 2 + 1)
    first = k == 0
    return (
        tl.where(first, zero, m00),
        tl.where(first, one, m01),
        tl.where(first, zero, m10),
        tl.where(first, one, m11),
    )


@triton.jit
def log_partition_kernel(init, edges, lengths, log_z, N, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + b).to(tl.int32)
    k = tl.arange(0, BLOCK)
    m00, m01, m10, m11 = _prefix_matrix(init, edges + b * (N - 1) * 4, b, k, length - 1)
    top = _largest(m00, m01, m10, m11)
    row = (m00 - top, m01 - top, m10 - top, m11 - top, top.to(tl.float64))
    a0, a1, _, _, scale = tl.associative_scan(row, 0, _scaled_log_product)
    value = _log_add(a0, a1).to(tl.float64) + scale
    value = tl.where(length == 0, 0.0, value)
    tl.store(log_z + b + k * 0, value.to(init.dtype.element_ty), mask=k == BLOCK - 1)


@triton.jit
def marginals_kernel(init, edges, lengths, states, joints, N, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + b).to(tl.int32)
    last = length - 1
    k = tl.arange(0, BLOCK)
    negative: tl.constexpr = float("-inf")
    edges += b * (N - 1) * 4
    p00, p01, p10, p11 = _prefix_matrix(init, edges, b, k, last)
    alpha0, alpha1, _, _ = tl.associative_scan(_lowered(p00, p01, p10, p11), 0, _log_product)
    f00, f01, f10, f11 = _load_matrix(edges, k + 1, k + 1 < last, 0.0, negative)
    after = _lowered(f00, f01, f10, f11)
    s00, s01, s10, s11 = tl.associative_scan(after, 0, _log_product_reversed, reverse=True)
    beta0, beta1 = _log_add(s00, s01), _log_add(s10, s11)
    # A chain of one position takes the identity for its edge: the row sums are then its marginals.
    e00, e01, e10, e11 = _load_matrix(edges, k, k < last, 0.0, negative)
    e00, e01, e10, e11 = _lowered(e00, e01, e10, e11)
    x00, x01, x10, x11 = (
        alpha0 + e00 + beta0,
        alpha0 + e01 + beta1,
        alpha1 + e10 + beta0,
        alpha1 + e11 + beta1,
    )
    x00, x01, x10, x11 = _lowered(x00, x01, x10, x11)
    x00, x01, x10, x11 = tl.exp(x00), tl.exp(x01), tl.exp(x10), tl.exp(x11)
    total = (x00 + x01) + (x10 + x11)
    share = tl.where(length > 0, 1.0, 0.0) / tl.where(total > 0, total, 1.0)
    x00, x01, x10, x11 = x00 * share, x01 * share, x10 * share, x11 * share
    tl.store(states + b * 2 + k * 0, x00 + x01, mask=k == 0)
    tl.store(states + b * 2 + 1 + k * 0, x10 + x11, mask=k == 0)
    _store_matrix(joints + b * (N - 1) * 4, k, k < last, k < N - 1, x00, x01, x10, x11)


@triton.jit
def _store_matrix(pointer, k, lives, exists, x00, x01, x10, x11):
    at = pointer + k * 4
    tl.store(at, tl.where(lives, x00, 0.0), mask=exists)
    tl.store(at + 1, tl.where(lives, x01, 0.0), mask=exists)
    tl.store(at + 2, tl.where(lives, x10, 0.0), mask=exists)
    tl.store(at + 3, tl.where(lives, x11, 0.0), mask=exists)


@triton.jit
def _gains(joints, g_edges, n, known):
    """M and M ⊙ G of edge n, zeros where it is not known or M is zero."""
    m00, m01, m10, m11 = _load_matrix(joints, n, known, 0.0, 0.0)
    g00, g01, g10, g11 = _load_matrix(g_edges, n, known, 0.0, 0.0)
    g00, g01 = tl.where(m00 > 0, m00 * g00, 0.0), tl.where(m01 > 0, m01 * g01, 0.0)
    g10, g11 = tl.where(m10 > 0, m10 * g10, 0.0), tl.where(m11 > 0, m11 * g11, 0.0)
    return m00, m01, m10, m11, g00, g01, g10, g11


@triton.jit
def _ratio(value, weight):
    return value / tl.where(weight > 0, weight, 1.0)


@triton.jit
def _before(joints, g_edges, states, g_states, b, k, last):
    """before_k(0), before_k(1), less their mean."""
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k - 1, (k > 0) & (k <= last))
    mean = (g00 + g01) + (g10 + g11)
    zero, one = m00 + m10, m01 + m11
    mu0, mu1 = tl.load(states + b * 2), tl.load(states + b * 2 + 1)
    start0 = tl.where(mu0 > 0, tl.load(g_states + b * 2), 0.0)
    start1 = tl.where(mu1 > 0, tl.load(g_states + b * 2 + 1), 0.0)
    middle = mu0 * start0 + mu1 * start1
    c0 = tl.where(k == 0, start0 - middle, _ratio(g00 + g10, zero) - mean)
    c1 = tl.where(k == 0, start1 - middle, _ratio(g01 + g11, one) - mean)
    row = (_ratio(m00, zero), _ratio(m10, zero), _ratio(m01, one), _ratio(m11, one), c0, c1)
    _, _, _, _, left0, left1 = tl.associative_scan(row, 0, _then)
    return left0, left1


@triton.jit
def _after(joints, g_edges, k, last):
    """after_{k+1}(0), after_{k+1}(1), less their mean; past the end the identity."""
    known = k + 1 < last
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k + 1, known)
    mean = (g00 + g01) + (g10 + g11)
    zero, one = m00 + m01, m10 + m11
    row = (
        tl.where(known, _ratio(m00, zero), 1.0), tl.where(known, _ratio(m01, zero), 0.0),
        tl.where(known, _ratio(m10, one), 0.0), tl.where(known, _ratio(m11, one), 1.0),
        tl.where(known, _ratio(g00 + g01, zero) - mean, 0.0), tl.where(known, _ratio(g10 + g11, one) - mean, 0.0),
    )  # fmt: skip
    _, _, _, _, right0, right1 = tl.associative_scan(row, 0, _then, reverse=True)
    return right0, right1


@triton.jit
def covariance_kernel(
    states, joints, lengths, g_states, g_edges, out_states, out_edges, N, BLOCK: tl.constexpr
):
    b = tl.program_id(0).to(tl.int64)
    length = tl.load(lengths + b).to(tl.int32)
    last = length - 1
    k = tl.arange(0, BLOCK)
    joints += b * (N - 1) * 4
    g_edges += b * (N - 1) * 4
    left0, left1 = _before(joints, g_edges, states, g_states, b, k, last)
    right0, right1 = _after(joints, g_edges, k, last)
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k, k < last)
    mean = (g00 + g01) + (g10 + g11)
    v00 = g00 + m00 * (left0 - mean + right0)
    v01 = g01 + m01 * (left0 - mean + right1)
    v10 = g10 + m10 * (left1 - mean + right0)
    v11 = g11 + m11 * (left1 - mean + right1)
    _store_matrix(out_edges + b * (N - 1) * 4, k, k < last, k < N - 1, v00, v01, v10, v11)
    # The first state's marginal is the sum over its edges, and so is its gradient; with no edge it has its own.
    mu0, mu1 = tl.load(states + b * 2), tl.load(states + b * 2 + 1)
    alone = last <= 0
    zero = tl.where(alone, mu0 * left0, v00 + v01)
    one = tl.where(alone, mu1 * left1, v10 + v11)
    tl.store(out_states + b * 2 + k * 0, tl.where(length > 0, zero, 0.0), mask=k == 0)
    tl.store(out_states + b * 2 + 1 + k * 0, tl.where(length > 0, one, 0.0), mask=k == 0)
