# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The chain with two states (segments) on CUDA as scans: log₂ N rounds instead of N steps.

One program takes a chain. Lane k holds the 2 × 2 matrices of edges k−1 and k+1. A scan of their log-products
from the left gives α_k, from the right β_{k+1}; lane 0 starts with the initial scores, lanes past the end
hold the identity. The largest entry is subtracted from each product. The backward pass scans affine maps v ↦
A v + c in the same way, where A is a matrix of conditional probabilities (see `chain_sweeps`).

Segments use the same kernels: their scores (B, N) take the place of the edges, and the matrix of edge n is
built from `transitions` (2, 2) and the score of n+1. Optional arguments (initial scores, transitions,
lengths, gradients) may be None, for which Triton compiles separate kernels. What a scan takes is written into
its call, because Triton before 3.3 does not scan a tuple in a variable.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.arithmetic import length_of, ratio


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
def _edge_matrix(edges, transitions, n, known, diagonal, off):
    """The matrix of edge n if `known`, else the given diagonal and off-diagonal."""
    if transitions is None:
        m00, m01, m10, m11 = _load_matrix(edges, n, known, diagonal, off)
    else:
        score = tl.load(edges + n + 1, mask=known, other=0.0)
        m00 = tl.where(known, tl.load(transitions), diagonal)
        m01 = tl.where(known, tl.load(transitions + 1) + score, off)
        m10 = tl.where(known, tl.load(transitions + 2), off)
        m11 = tl.where(known, tl.load(transitions + 3) + score, diagonal)
    return m00, m01, m10, m11


@triton.jit
def _load_matrix(pointer, n, known, diagonal, off):
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
    """Subtract the largest entry."""
    top = _largest(m00, m01, m10, m11)
    return m00 - top, m01 - top, m10 - top, m11 - top


@triton.jit
def _prefix_matrix(init, edges, transitions, k, last):
    """Lane 0: the initial scores in both rows; lane k: edge k−1; past the end: the identity."""
    negative: tl.constexpr = float("-inf")
    m00, m01, m10, m11 = _edge_matrix(edges, transitions, k - 1, (k > 0) & (k <= last), 0.0, negative)
    zero = tl.zeros([1], m00.dtype)
    one = tl.zeros([1], m00.dtype)
    if init is not None:
        zero, one = zero + tl.load(init), one + tl.load(init + 1)
    if transitions is not None:
        one = one + tl.load(edges)
    first = k == 0
    return (
        tl.where(first, zero, m00),
        tl.where(first, one, m01),
        tl.where(first, zero, m10),
        tl.where(first, one, m11),
    )


@triton.jit(do_not_specialize=["N"])
def log_partition_kernel(init, edges, lengths, log_z, N, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    k = tl.arange(0, BLOCK)
    if init is not None:
        init += b * 2
    m00, m01, m10, m11 = _prefix_matrix(init, edges + b * (N - 1) * 4, None, k, length - 1)
    top = _largest(m00, m01, m10, m11)
    a0, a1, _, _, scale = tl.associative_scan(
        (m00 - top, m01 - top, m10 - top, m11 - top, top.to(tl.float64)), 0, _scaled_log_product
    )
    value = _log_add(a0, a1).to(tl.float64) + scale
    value = tl.where(length == 0, 0.0, value)
    tl.store(log_z + b + k * 0, value.to(log_z.dtype.element_ty), mask=k == BLOCK - 1)


@triton.jit
def pair_marginals(init, edges, transitions, k, length):
    """p(z_k, z_{k+1}) of one chain; for the last position p(z_k) on the diagonal."""
    negative: tl.constexpr = float("-inf")
    last = length - 1
    p00, p01, p10, p11 = _prefix_matrix(init, edges, transitions, k, last)
    alpha0, alpha1, _, _ = tl.associative_scan(_lowered(p00, p01, p10, p11), 0, _log_product)
    f00, f01, f10, f11 = _edge_matrix(edges, transitions, k + 1, k + 1 < last, 0.0, negative)
    s00, s01, s10, s11 = tl.associative_scan(
        _lowered(f00, f01, f10, f11), 0, _log_product_reversed, reverse=True
    )
    beta0, beta1 = _log_add(s00, s01), _log_add(s10, s11)
    # The last position has the identity as its edge, so that the row sums are its marginals.
    e00, e01, e10, e11 = _edge_matrix(edges, transitions, k, k < last, 0.0, negative)
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
    return x00, x01, x10, x11


@triton.jit(do_not_specialize=["N"])
def marginals_kernel(init, edges, transitions, lengths, states, joints, N, BLOCK: tl.constexpr):
    """states: p(z_0) (B, 2), or for segments p(z_n = 1) (B, N); joints (B, N−1, 2, 2)."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    last = length - 1
    k = tl.arange(0, BLOCK)
    if init is not None:
        init += b * 2
    if transitions is None:
        edges += b * (N - 1) * 4
    else:
        edges += b * N
        transitions += b * 4
    x00, x01, x10, x11 = pair_marginals(init, edges, transitions, k, length)
    if transitions is None:
        tl.store(states + b * 2 + k * 0, x00 + x01, mask=k == 0)
        tl.store(states + b * 2 + 1 + k * 0, x10 + x11, mask=k == 0)
    else:
        tl.store(states + b * N + k, tl.where(k <= last, x10 + x11, 0.0), mask=k < N)
    _store_matrix(joints + b * (N - 1) * 4, k, k < last, k < N - 1, x00, x01, x10, x11)


@triton.jit
def _store_matrix(pointer, k, lives, exists, x00, x01, x10, x11):
    at = pointer + k * 4
    tl.store(at, tl.where(lives, x00, 0.0), mask=exists)
    tl.store(at + 1, tl.where(lives, x01, 0.0), mask=exists)
    tl.store(at + 2, tl.where(lives, x10, 0.0), mask=exists)
    tl.store(at + 3, tl.where(lives, x11, 0.0), mask=exists)


@triton.jit
def _gains(joints, g_edges, n, known, SEGMENTS: tl.constexpr):
    """M and M ⊙ G of edge n; zeros unless `known` and where M is zero."""
    m00, m01, m10, m11 = _load_matrix(joints, n, known, 0.0, 0.0)
    if SEGMENTS:
        gain = tl.load(g_edges + n + 1, mask=known, other=0.0)
        g00, g10 = m00 * 0.0, m10 * 0.0
        g01, g11 = m01 * gain, m11 * gain
    else:
        g00, g01, g10, g11 = _load_matrix(g_edges, n, known, 0.0, 0.0)
        g00, g10 = tl.where(m00 > 0, m00 * g00, 0.0), tl.where(m10 > 0, m10 * g10, 0.0)
        g01, g11 = m01 * g01, m11 * g11
    # A gradient may be infinite for an impossible part.
    g01, g11 = tl.where(m01 > 0, g01, 0.0), tl.where(m11 > 0, g11, 0.0)
    return m00, m01, m10, m11, g00, g01, g10, g11


@triton.jit
def _first_gains(states, g_states, g_edges, SEGMENTS: tl.constexpr):
    """p(z_0 = 0), p(z_0 = 1) and their gains. For segments state 0 has no gain."""
    if SEGMENTS:
        mu1 = tl.load(states)
        mu0 = 1.0 - mu1
        start0 = mu1 * 0.0
        start1 = tl.where(mu1 > 0, tl.load(g_edges), 0.0)
    else:
        mu0, mu1 = tl.load(states), tl.load(states + 1)
        start0, start1 = mu0 * 0.0, mu1 * 0.0
        if g_states is not None:
            start0 = tl.where(mu0 > 0, tl.load(g_states), 0.0)
            start1 = tl.where(mu1 > 0, tl.load(g_states + 1), 0.0)
    return mu0, mu1, start0, start1


@triton.jit
def _before(joints, g_edges, mu0, mu1, start0, start1, k, last, SEGMENTS: tl.constexpr):
    """before_k(0), before_k(1), minus their mean."""
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k - 1, (k > 0) & (k <= last), SEGMENTS)
    mean = (g00 + g01) + (g10 + g11)
    zero, one = m00 + m10, m01 + m11
    middle = mu0 * start0 + mu1 * start1
    c0 = tl.where(k == 0, start0 - middle, ratio(g00 + g10, zero) - mean)
    c1 = tl.where(k == 0, start1 - middle, ratio(g01 + g11, one) - mean)
    _, _, _, _, left0, left1 = tl.associative_scan(
        (ratio(m00, zero), ratio(m10, zero), ratio(m01, one), ratio(m11, one), c0, c1), 0, _then
    )
    return left0, left1


@triton.jit
def _after(joints, g_edges, k, last, SEGMENTS: tl.constexpr):
    """after_{k+1}(0), after_{k+1}(1), minus their mean; past the end the identity."""
    known = k + 1 < last
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k + 1, known, SEGMENTS)
    mean = (g00 + g01) + (g10 + g11)
    zero, one = m00 + m01, m10 + m11
    _, _, _, _, right0, right1 = tl.associative_scan((
        tl.where(known, ratio(m00, zero), 1.0), tl.where(known, ratio(m01, zero), 0.0),
        tl.where(known, ratio(m10, one), 0.0), tl.where(known, ratio(m11, one), 1.0),
        tl.where(known, ratio(g00 + g01, zero) - mean, 0.0), tl.where(known, ratio(g10 + g11, one) - mean, 0.0),
    ), 0, _then, reverse=True)  # fmt: skip
    return right0, right1


@triton.jit
def pair_gradients(states, joints, g_states, g_edges, k, length, SEGMENTS: tl.constexpr):
    """For one chain: the gradients of its edges k, and of the two scores of its first state."""
    last = length - 1
    mu0, mu1, start0, start1 = _first_gains(states, g_states, g_edges, SEGMENTS)
    left0, left1 = _before(joints, g_edges, mu0, mu1, start0, start1, k, last, SEGMENTS)
    right0, right1 = _after(joints, g_edges, k, last, SEGMENTS)
    m00, m01, m10, m11, g00, g01, g10, g11 = _gains(joints, g_edges, k, k < last, SEGMENTS)
    mean = (g00 + g01) + (g10 + g11)
    v00 = g00 + m00 * (left0 - mean + right0)
    v01 = g01 + m01 * (left0 - mean + right1)
    v10 = g10 + m10 * (left1 - mean + right0)
    v11 = g11 + m11 * (left1 - mean + right1)
    # The gradient of the first state is the sum over its edges; without an edge it is computed directly.
    alone = last <= 0
    zero = tl.where(length > 0, tl.where(alone, mu0 * left0, v00 + v01), 0.0)
    one = tl.where(length > 0, tl.where(alone, mu1 * left1, v10 + v11), 0.0)
    return v00, v01, v10, v11, zero, one


@triton.jit(do_not_specialize=["N"])
def covariance_kernel(states, joints, lengths, g_states, g_edges, out_states, out_edges, N, SEGMENTS: tl.constexpr,
                      BLOCK: tl.constexpr):  # fmt: skip
    """For segments, g_edges is the gradient of p(z_n = 1), out_states that of the scores, both (B, N), and
    out_edges (B, 2, 2) that of the transitions.
    """
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    last = length - 1
    k = tl.arange(0, BLOCK)
    joints += b * (N - 1) * 4
    g_edges += b * N if SEGMENTS else b * (N - 1) * 4
    states += b * N if SEGMENTS else b * 2
    if out_states is not None:
        out_states += b * N if SEGMENTS else b * 2
    if g_states is not None:
        g_states += b * 2
    v00, v01, v10, v11, zero, one = pair_gradients(states, joints, g_states, g_edges, k, length, SEGMENTS)
    if SEGMENTS:
        lives = k < last
        tl.store(out_states + k * 0, one, mask=k == 0)
        tl.store(out_states + k + 1, tl.where(lives, v01 + v11, 0.0), mask=k < N - 1)
        out_edges += b * 4
        tl.store(out_edges, tl.sum(tl.where(lives, v00, 0.0), 0))
        tl.store(out_edges + 1, tl.sum(tl.where(lives, v01, 0.0), 0))
        tl.store(out_edges + 2, tl.sum(tl.where(lives, v10, 0.0), 0))
        tl.store(out_edges + 3, tl.sum(tl.where(lives, v11, 0.0), 0))
    else:
        if out_states is not None:
            tl.store(out_states + k * 0, zero, mask=k == 0)
            tl.store(out_states + 1 + k * 0, one, mask=k == 0)
        _store_matrix(out_edges + b * (N - 1) * 4, k, k < last, k < N - 1, v00, v01, v10, v11)
