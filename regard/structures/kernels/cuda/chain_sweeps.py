# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Chains of any number of states on CUDA: two sweeps side by side, then every edge by itself.

One program runs forward over a chain, α_{n+1}(j) = log Σ_i exp(α_n(i) + e_n[i, j]), another backward. Each edge is
taken less its largest score (`tops`) and each message less its largest entry, so single precision loses nothing on
long chains or shifted scores. Then M_n[i, j] is the softmax of α_n(i) + e_n[i, j] + β_{n+1}(j) over (i, j), for all
n at once.

The backward pass has the same shape. With p(i | j) = M[i, j] / Σ_i M[i, j] and ḡ_n = E[G_n],

    before_{n+1}(j) = Σ_i p(i | j) (before_n(i) + G_n[i, j]) − ḡ_n
    after_n(i) = Σ_j p(j | i) (G_n[i, j] + after_{n+1}(j)) − ḡ_n

and the answer is M_n[i, j] · (before_n(i) + G_n[i, j] − ḡ_n + after_{n+1}(j)).

What a caller leaves out (initial scores, lengths, gradients of the first state, `tops`) is None, for which a kernel of
its own is compiled.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.two_states import length_of


@triton.jit
def _finite(x):
    return tl.where(x == float("-inf"), 0.0, x)


@triton.jit
def _load_tile(pointer, n, last, C, BLOCK: tl.constexpr, fill):
    """The C × C tile of edge n, `fill` outside it and for n past `last`."""
    i = tl.arange(0, BLOCK)
    inside = (i[:, None] < C) & (i[None, :] < C) & (n < last) & (n >= 0)
    return tl.load(pointer + n * C * C + i[:, None] * C + i[None, :], mask=inside, other=fill)


@triton.jit(do_not_specialize=["N"])
def tops_kernel(edges, tops, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """tops (B, N−1): the largest score of each edge, 0 where there is none."""
    b = tl.program_id(0).to(tl.int64)
    for step in range(STEPS):
        n = tl.program_id(1) * STEPS + step
        if n < N - 1:
            tile = _load_tile(edges + b * (N - 1) * C * C, n, N - 1, C, BLOCK, float("-inf"))
            tl.store(tops + b * (N - 1) + n, _finite(tl.max(tl.max(tile, 1), 0)))


@triton.jit
def _top_of(tops, n, tile):
    """The largest score of edge n."""
    if tops is None:
        top = _finite(tl.max(tl.max(tile, 1), 0))
    else:
        top = tl.load(tops + n)
    return top


@triton.jit(do_not_specialize=["N"])
def sweep_kernel(init, edges, tops, lengths, alpha, beta, log_z, N, C, BLOCK: tl.constexpr):
    """alpha, beta (B, N, C): the normalised messages at each position; log_z (B,); each None if not wanted."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    edges += b * (N - 1) * C * C
    if tops is not None:
        tops += b * (N - 1)
    last = length - 1  # edges 0 .. last − 1 count
    if tl.program_id(1) == 0:
        message = tl.where(i < C, 0.0, float("-inf")).to(edges.dtype.element_ty)
        if init is not None:
            message = tl.load(init + b * C + i, mask=i < C, other=float("-inf"))
        top = _finite(tl.max(message, 0))
        message = message - top
        scale = top.to(tl.float64)
        if alpha is not None:
            tl.store(alpha + b * N * C + i, message, mask=i < C)
        tile = _load_tile(edges, 0, last, C, BLOCK, float("-inf"))
        for n in range(last):
            ahead = _load_tile(edges, n + 1, last, C, BLOCK, float("-inf"))
            shift = _top_of(tops, n, tile)
            scores = message[:, None] + (tile - shift)
            best = _finite(tl.max(scores, 0))
            message = best + tl.log(tl.sum(tl.exp(scores - best[None, :]), 0))
            top = _finite(tl.max(message, 0))
            message = message - top
            scale += top.to(tl.float64) + shift.to(tl.float64)
            if alpha is not None:
                tl.store(alpha + (b * N + n + 1) * C + i, message, mask=i < C)
            tile = ahead
        if log_z is not None:
            value = scale + tl.log(tl.sum(tl.exp(message), 0)).to(tl.float64)
            tl.store(log_z + b, tl.where(length == 0, 0.0, value).to(edges.dtype.element_ty))
    elif beta is not None:
        message = tl.where(i < C, 0.0, float("-inf")).to(edges.dtype.element_ty)
        tl.store(beta + (b * N + last) * C + i, message, mask=(i < C) & (last >= 0))
        tile = _load_tile(edges, last - 1, last, C, BLOCK, float("-inf"))
        for step in range(last):
            n = last - 1 - step
            ahead = _load_tile(edges, n - 1, last, C, BLOCK, float("-inf"))
            scores = (tile - _top_of(tops, n, tile)) + message[None, :]
            best = _finite(tl.max(scores, 1))
            message = best + tl.log(tl.sum(tl.exp(scores - best[:, None]), 1))
            message = message - _finite(tl.max(message, 0))
            tl.store(beta + (b * N + n) * C + i, message, mask=i < C)
            tile = ahead


@triton.jit(do_not_specialize=["N"])
def marginals_kernel(
    edges, lengths, alpha, beta, states, joints, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr
):
    """STEPS edges a program: the softmax of α + e + β; zeros past the length and where nothing is possible."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    inside = (i[:, None] < C) & (i[None, :] < C)
    for step in range(STEPS):
        n = tl.program_id(1) * STEPS + step
        if n < N - 1:
            lives = n < length - 1
            left = tl.load(alpha + (b * N + n) * C + i, mask=(i < C) & lives, other=float("-inf"))
            right = tl.load(beta + (b * N + n + 1) * C + i, mask=(i < C) & lives, other=float("-inf"))
            at = (b * (N - 1) + n) * C * C + i[:, None] * C + i[None, :]
            edge = tl.load(edges + at, mask=inside & lives, other=float("-inf"))
            edge -= _finite(tl.max(tl.max(edge, 1), 0))
            scores = left[:, None] + edge + right[None, :]
            top = _finite(tl.max(tl.max(scores, 1), 0))
            weights = tl.exp(scores - top)
            total = tl.sum(tl.sum(weights, 1), 0)
            tl.store(joints + at, weights / tl.where(total > 0, total, 1.0), mask=inside)
    if tl.program_id(1) == 0:
        lives = (i < C) & (length > 0)
        score = tl.load(alpha + b * N * C + i, mask=lives, other=float("-inf"))
        score += tl.load(beta + b * N * C + i, mask=lives, other=float("-inf"))
        weights = tl.exp(score - _finite(tl.max(score, 0)))
        total = tl.sum(weights, 0)
        tl.store(states + b * C + i, weights / tl.where(total > 0, total, 1.0), mask=i < C)


@triton.jit
def _ratio(value, weight):
    return value / tl.where(weight > 0, weight, 1.0)


@triton.jit(do_not_specialize=["N"])
def carry_kernel(states, joints, lengths, g_states, g_edges, before, after, N, C, BLOCK: tl.constexpr):
    """before, after (B, N, C): the expected G-score on either side of each state, less its mean."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    last = length - 1
    joints += b * (N - 1) * C * C
    g_edges += b * (N - 1) * C * C
    if tl.program_id(1) == 0:
        mu = tl.load(states + b * C + i, mask=i < C, other=0.0)
        message = mu * 0.0
        if g_states is not None:
            gain = tl.load(g_states + b * C + i, mask=(i < C) & (mu > 0), other=0.0)
            message = gain - tl.sum(mu * gain, 0)
        tl.store(before + b * N * C + i, message, mask=i < C)
        tile = _load_tile(joints, 0, last, C, BLOCK, 0.0)
        gains = _load_tile(g_edges, 0, last, C, BLOCK, 0.0)
        for n in range(last):
            next_tile = _load_tile(joints, n + 1, last, C, BLOCK, 0.0)
            next_gains = _load_tile(g_edges, n + 1, last, C, BLOCK, 0.0)
            gains = tl.where(tile > 0, tile * gains, 0.0)
            known = tl.sum(gains, 0)
            mean = tl.sum(known, 0)
            message = _ratio(known + tl.sum(tile * message[:, None], 0), tl.sum(tile, 0)) - mean
            tl.store(before + (b * N + n + 1) * C + i, message, mask=i < C)
            tile, gains = next_tile, next_gains
    else:
        message = tl.zeros([BLOCK], states.dtype.element_ty)
        tl.store(after + (b * N + last) * C + i, message, mask=(i < C) & (last >= 0))
        tile = _load_tile(joints, last - 1, last, C, BLOCK, 0.0)
        gains = _load_tile(g_edges, last - 1, last, C, BLOCK, 0.0)
        for step in range(last):
            n = last - 1 - step
            next_tile = _load_tile(joints, n - 1, last, C, BLOCK, 0.0)
            next_gains = _load_tile(g_edges, n - 1, last, C, BLOCK, 0.0)
            gains = tl.where(tile > 0, tile * gains, 0.0)
            known = tl.sum(gains, 1)
            mean = tl.sum(known, 0)
            message = _ratio(known + tl.sum(tile * message[None, :], 1), tl.sum(tile, 1)) - mean
            tl.store(after + (b * N + n) * C + i, message, mask=i < C)
            tile, gains = next_tile, next_gains


@triton.jit(do_not_specialize=["N"])
def covariance_kernel(states, joints, lengths, g_edges, before, after, out_states, out_edges, N, C,
                      BLOCK: tl.constexpr, STEPS: tl.constexpr):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    inside = (i[:, None] < C) & (i[None, :] < C)
    for step in range(STEPS):
        n = tl.program_id(1) * STEPS + step
        if n < N - 1:
            lives = n < length - 1
            at = (b * (N - 1) + n) * C * C + i[:, None] * C + i[None, :]
            tile = tl.load(joints + at, mask=inside & lives, other=0.0)
            gain = tl.load(g_edges + at, mask=inside & lives, other=0.0)
            gain = tl.where(tile > 0, gain, 0.0)
            left = tl.load(before + (b * N + n) * C + i, mask=(i < C) & lives, other=0.0)
            right = tl.load(after + (b * N + n + 1) * C + i, mask=(i < C) & lives, other=0.0)
            mean = tl.sum(tl.sum(tile * gain, 1), 0)
            tl.store(out_edges + at, tile * (left[:, None] + gain - mean + right[None, :]), mask=inside)
    if out_states is not None:  # noqa: SIM102 (this condition is decided when compiling, the next when running)
        if tl.program_id(1) == 0:
            lives = (i < C) & (length > 0)
            mu = tl.load(states + b * C + i, mask=lives, other=0.0)
            score = tl.load(before + b * N * C + i, mask=lives, other=0.0)
            score += tl.load(after + b * N * C + i, mask=lives, other=0.0)
            tl.store(out_states + b * C + i, mu * score, mask=i < C)
