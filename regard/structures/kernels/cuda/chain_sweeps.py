# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Chains of any number of states on CUDA: two concurrent sweeps, then all edges in parallel.

One program runs forward over a chain, α_{n+1}(j) = log Σ_i exp(α_n(i) + e_n[i, j]), another backward. The
largest score is subtracted from each edge and the largest entry from each message, so single precision loses
no digits on long chains or shifted scores. Then M_n[i, j] is the softmax of α_n(i) + e_n[i, j] + β_{n+1}(j)
over (i, j), for all n in parallel.

For wide tiles the maxima of all edges are computed beforehand, so that a sweep needs one reduction a step
instead of three: max_i e_n[i, j] (`ceilings`) replaces the largest term of the sum over i. It is an upper
bound, because the largest α_n is 0. If the bound is so loose that single precision would lose the sum, the
step is computed exactly.

The backward pass has the same structure. With p(i | j) = M[i, j] / Σ_i M[i, j] and ḡ_n = E[G_n],

    before_{n+1}(j) = Σ_i p(i | j) (before_n(i) + G_n[i, j]) − ḡ_n
    after_n(i) = Σ_j p(j | i) (G_n[i, j] + after_{n+1}(j)) − ḡ_n

and the result is M_n[i, j] · (before_n(i) + G_n[i, j] − ḡ_n + after_{n+1}(j)).

For wide tiles the sums that do not depend on the message are computed beforehand too.

Optional arguments (initial scores, lengths, gradients of the first state, precomputed sums) may be None, for
which Triton compiles separate kernels.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.arithmetic import finite, length_of, ratio


@triton.jit
def _load_tile(pointer, n, last, C, BLOCK: tl.constexpr, fill):
    """The C × C tile of edge n, `fill` outside it and for n past `last`."""
    i = tl.arange(0, BLOCK)
    inside = (i[:, None] < C) & (i[None, :] < C) & (n < last) & (n >= 0)
    return tl.load(pointer + n * C * C + i[:, None] * C + i[None, :], mask=inside, other=fill)


@triton.jit(do_not_specialize=["N"])
def tops_kernel(edges, tops, ceilings, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """tops (B, N−1): the maximum of each edge, 0 if all scores are −inf; ceilings (2, B, N−1, C): the maxima
    of its columns and of its rows, minus the top.
    """
    b = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    rows = tl.num_programs(0).to(tl.int64) * (N - 1) * C
    for step in range(STEPS):
        n = tl.program_id(1) * STEPS + step
        if n < N - 1:
            tile = _load_tile(edges + b * (N - 1) * C * C, n, N - 1, C, BLOCK, float("-inf"))
            columns = tl.max(tile, 0)
            top = finite(tl.max(columns, 0))
            at = (b * (N - 1) + n) * C + i
            tl.store(tops + b * (N - 1) + n, top)
            tl.store(ceilings + at, columns - top, mask=i < C)
            tl.store(ceilings + rows + at, tl.max(tile, 1) - top, mask=i < C)


@triton.jit
def _lower_and_higher(low, high, other_low, other_high):
    return tl.minimum(low, other_low), tl.maximum(high, other_high)


@triton.jit
def _exactly(tile, message, AXIS: tl.constexpr):
    """log Σ exp(tile + message), with the message along the axis of the sum."""
    scores = tile + tl.expand_dims(message, 1 - AXIS)
    best = finite(tl.max(scores, AXIS))
    return best + tl.log(tl.sum(tl.exp(scores - tl.expand_dims(best, AXIS)), AXIS))


@triton.jit
def _look_over(tops, ceilings, n, last, tile, i, C):
    """The maximum of edge n and the maxima of its columns or rows; without `tops`, only the maximum."""
    if tops is None:
        top = finite(tl.max(tl.max(tile, 1), 0))
        bound = tl.zeros([1], tile.dtype)
    else:
        exists = (n >= 0) & (n < last)
        top = tl.load(tops + n, mask=exists, other=0.0)
        bound = tl.load(ceilings + n * C + i, mask=(i < C) & exists, other=float("-inf"))
    return top, bound


@triton.jit
def _pass_on(tile, message, ceilings, bound, AXIS: tl.constexpr):
    """The next message and its largest entry; the largest entry of `message` is 0."""
    if ceilings is None:
        passed = _exactly(tile, message, AXIS)
        top = finite(tl.max(passed, 0))
    else:
        known = finite(bound)
        weights = tl.exp(tile - tl.expand_dims(known, AXIS)) * tl.expand_dims(tl.exp(message), 1 - AXIS)
        total = tl.sum(weights, AXIS)
        passed = known + tl.log(total)
        low, top = tl.reduce((tl.where(bound == known, total, 1.0), passed), 0, _lower_and_higher)
        if low < 1e-30:
            passed = _exactly(tile, message, AXIS)
            top = tl.max(passed, 0)
        top = finite(top)
    return passed, top


@triton.jit(do_not_specialize=["N"])
def sweep_kernel(init, edges, tops, ceilings, lengths, alpha, beta, log_z, N, C, BLOCK: tl.constexpr):
    """alpha, beta (B, N, C): the normalized messages at each position; log_z (B,); None if not needed."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    edges += b * (N - 1) * C * C
    if tops is not None:
        tops += b * (N - 1)
        ceilings += b * (N - 1) * C
    last = length - 1  # edges 0 .. last − 1 count
    if tl.program_id(1) == 0:
        message = tl.where(i < C, 0.0, float("-inf")).to(edges.dtype.element_ty)
        if init is not None:
            message = tl.load(init + b * C + i, mask=i < C, other=float("-inf"))
        top = finite(tl.max(message, 0))
        message = message - top
        scale = top.to(tl.float64)
        if alpha is not None:
            tl.store(alpha + b * N * C + i, message, mask=i < C)
        tile = _load_tile(edges, 0, last, C, BLOCK, float("-inf"))
        shift, bound = _look_over(tops, ceilings, 0, last, tile, i, C)
        for n in range(last):
            ahead = _load_tile(edges, n + 1, last, C, BLOCK, float("-inf"))
            shift_ahead, bound_ahead = _look_over(tops, ceilings, n + 1, last, ahead, i, C)
            message, top = _pass_on(tile - shift, message, ceilings, bound, 0)
            message = message - top
            scale += top.to(tl.float64) + shift.to(tl.float64)
            if alpha is not None:
                tl.store(alpha + (b * N + n + 1) * C + i, message, mask=i < C)
            tile, shift, bound = ahead, shift_ahead, bound_ahead
        if log_z is not None:
            value = scale + tl.log(tl.sum(tl.exp(message), 0)).to(tl.float64)
            tl.store(log_z + b, tl.where(length == 0, 0.0, value).to(edges.dtype.element_ty))
    elif beta is not None:
        message = tl.where(i < C, 0.0, float("-inf")).to(edges.dtype.element_ty)
        tl.store(beta + (b * N + last) * C + i, message, mask=(i < C) & (last >= 0))
        tile = _load_tile(edges, last - 1, last, C, BLOCK, float("-inf"))
        if ceilings is not None:
            ceilings += tl.num_programs(0).to(tl.int64) * (N - 1) * C
        shift, bound = _look_over(tops, ceilings, last - 1, last, tile, i, C)
        for step in range(last):
            n = last - 1 - step
            ahead = _load_tile(edges, n - 1, last, C, BLOCK, float("-inf"))
            shift_ahead, bound_ahead = _look_over(tops, ceilings, n - 1, last, ahead, i, C)
            message, top = _pass_on(tile - shift, message, ceilings, bound, 1)
            message = message - top
            tl.store(beta + (b * N + n) * C + i, message, mask=i < C)
            tile, shift, bound = ahead, shift_ahead, bound_ahead


@triton.jit(do_not_specialize=["N"])
def marginals_kernel(
    edges, lengths, alpha, beta, states, joints, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr
):
    """STEPS edges per program: the softmax of α + e + β; zeros past the length and if no path is possible."""
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
            edge -= finite(tl.max(tl.max(edge, 1), 0))
            scores = left[:, None] + edge + right[None, :]
            top = finite(tl.max(tl.max(scores, 1), 0))
            weights = tl.exp(scores - top)
            total = tl.sum(tl.sum(weights, 1), 0)
            tl.store(joints + at, weights / tl.where(total > 0, total, 1.0), mask=inside)
    if tl.program_id(1) == 0:
        lives = (i < C) & (length > 0)
        score = tl.load(alpha + b * N * C + i, mask=lives, other=float("-inf"))
        score += tl.load(beta + b * N * C + i, mask=lives, other=float("-inf"))
        weights = tl.exp(score - finite(tl.max(score, 0)))
        total = tl.sum(weights, 0)
        tl.store(states + b * C + i, weights / tl.where(total > 0, total, 1.0), mask=i < C)


@triton.jit(do_not_specialize=["N"])
def gains_kernel(joints, g_edges, gains, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    """gains (4, B, N−1, C): Σ_i M G / Σ_i M − ḡ and Σ_i M of each column, and the same for each row."""
    b = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, BLOCK)
    rows = tl.num_programs(0).to(tl.int64) * (N - 1) * C
    for step in range(STEPS):
        n = tl.program_id(1) * STEPS + step
        if n < N - 1:
            tile = _load_tile(joints + b * (N - 1) * C * C, n, N - 1, C, BLOCK, 0.0)
            gain = _load_tile(g_edges + b * (N - 1) * C * C, n, N - 1, C, BLOCK, 0.0)
            gain = tl.where(tile > 0, tile * gain, 0.0)
            known = tl.sum(gain, 0)
            mean = tl.sum(known, 0)
            mass = tl.sum(tile, 0)
            at = gains + (b * (N - 1) + n) * C + i
            tl.store(at, ratio(known, mass) - mean, mask=i < C)
            tl.store(at + rows, mass, mask=i < C)
            mass = tl.sum(tile, 1)
            tl.store(at + 2 * rows, ratio(tl.sum(gain, 1), mass) - mean, mask=i < C)
            tl.store(at + 3 * rows, mass, mask=i < C)


@triton.jit
def _load_gain(joints, g_edges, gains, n, rows, last, i, C, AXIS: tl.constexpr, BLOCK: tl.constexpr):
    """M of edge n, E[G | state] − ḡ, and the state's mass; computed here if `gains` is None."""
    tile = _load_tile(joints, n, last, C, BLOCK, 0.0)
    if gains is None:
        gain = _load_tile(g_edges, n, last, C, BLOCK, 0.0)
        gain = tl.where(tile > 0, tile * gain, 0.0)
        known = tl.sum(gain, AXIS)
        mass = tl.sum(tile, AXIS)
        known = ratio(known, mass) - tl.sum(known, 0)
    else:
        exists = (i < C) & (n >= 0) & (n < last)
        known = tl.load(gains + n * C + i, mask=exists, other=0.0)
        mass = tl.load(gains + rows + n * C + i, mask=exists, other=0.0)
    return tile, known, mass


@triton.jit(do_not_specialize=["N"])
def carry_kernel(states, joints, lengths, g_states, g_edges, gains, before, after, N, C, BLOCK: tl.constexpr):
    """before, after (B, N, C): the expected G-score before and after each state, minus its mean."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    i = tl.arange(0, BLOCK)
    last = length - 1
    joints += b * (N - 1) * C * C
    g_edges += b * (N - 1) * C * C
    rows = tl.num_programs(0).to(tl.int64) * (N - 1) * C
    if gains is not None:
        gains += b * (N - 1) * C
    if tl.program_id(1) == 0:
        mu = tl.load(states + b * C + i, mask=i < C, other=0.0)
        message = mu * 0.0
        if g_states is not None:
            start = tl.load(g_states + b * C + i, mask=(i < C) & (mu > 0), other=0.0)
            message = start - tl.sum(mu * start, 0)
        tl.store(before + b * N * C + i, message, mask=i < C)
        tile, known, mass = _load_gain(joints, g_edges, gains, 0, rows, last, i, C, 0, BLOCK)
        for n in range(last):
            ahead, known_ahead, mass_ahead = _load_gain(
                joints, g_edges, gains, n + 1, rows, last, i, C, 0, BLOCK
            )
            message = known + ratio(tl.sum(tile * message[:, None], 0), mass)
            tl.store(before + (b * N + n + 1) * C + i, message, mask=i < C)
            tile, known, mass = ahead, known_ahead, mass_ahead
    else:
        message = tl.zeros([BLOCK], states.dtype.element_ty)
        tl.store(after + (b * N + last) * C + i, message, mask=(i < C) & (last >= 0))
        if gains is not None:
            gains += 2 * rows
        tile, known, mass = _load_gain(joints, g_edges, gains, last - 1, rows, last, i, C, 1, BLOCK)
        for step in range(last):
            n = last - 1 - step
            ahead, known_ahead, mass_ahead = _load_gain(
                joints, g_edges, gains, n - 1, rows, last, i, C, 1, BLOCK
            )
            message = known + ratio(tl.sum(tile * message[None, :], 1), mass)
            tl.store(after + (b * N + n) * C + i, message, mask=i < C)
            tile, known, mass = ahead, known_ahead, mass_ahead


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
    if out_states is not None:  # noqa: SIM102 (evaluated at compile time, the next at run time)
        if tl.program_id(1) == 0:
            lives = (i < C) & (length > 0)
            mu = tl.load(states + b * C + i, mask=lives, other=0.0)
            score = tl.load(before + b * N * C + i, mask=lives, other=0.0)
            score += tl.load(after + b * N * C + i, mask=lives, other=0.0)
            tl.store(out_states + b * C + i, mu * score, mask=i < C)
