# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Chains of few states on CUDA in a single launch, since a launch costs more than the work.

The equations are those of `chain_sweeps`. One program takes a whole chain and runs both sweeps in one loop,
as two tiles: [0, i, j] is the edge of the forward sweep, [1, j, i] the transposed edge of the backward sweep,
so that both sum over the middle axis. Then it processes the edges, STEPS of them at a time.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.structures.kernels.cuda.arithmetic import finite, length_of, ratio


@triton.jit
def _load_both(pointer, n, m, last, C, BLOCK: tl.constexpr, fill):
    """(2, BLOCK, BLOCK): edge n, and edge m transposed; `fill` outside them and for missing edges."""
    way = tl.arange(0, 2)[:, None, None]
    a = tl.arange(0, BLOCK)[None, :, None]
    b = tl.arange(0, BLOCK)[None, None, :]
    ahead = way == 0
    edge = tl.where(ahead, n, m)
    at = edge * C * C + tl.where(ahead, a * C + b, b * C + a)
    return tl.load(pointer + at, mask=(a < C) & (b < C) & (edge < last) & (edge >= 0), other=fill)


@triton.jit
def _store_both(messages, n, m, message, N, C, BLOCK: tl.constexpr):
    """messages (2, N, C): the forward one at n, the backward one at m."""
    way = tl.arange(0, 2)[:, None]
    i = tl.arange(0, BLOCK)[None, :]
    at = tl.where(way == 0, n, N + m) * C + i
    tl.store(messages + at, message, mask=(i < C) & (tl.where(way == 0, n, m) >= 0))


@triton.jit
def _edges_at(n, C, BLOCK: tl.constexpr):
    """Offsets (STEPS, BLOCK, BLOCK) of whole edges, and which of them are inside the C × C tile."""
    i = tl.arange(0, BLOCK)[None, :, None]
    j = tl.arange(0, BLOCK)[None, None, :]
    return n[:, None, None] * C * C + i * C + j, (i < C) & (j < C)


@triton.jit
def _sides_at(n, N, C, BLOCK: tl.constexpr):
    """Offsets (STEPS, BLOCK) of the messages before and after each edge, and which are inside."""
    i = tl.arange(0, BLOCK)[None, :]
    return n[:, None] * C + i, (N + n[:, None] + 1) * C + i, i < C


@triton.jit(do_not_specialize=["N"])
def marginals_kernel(
    init, edges, lengths, messages, states, joints, N, C, BLOCK: tl.constexpr, STEPS: tl.constexpr
):
    """messages (B, 2, N, C) is scratch; states (B, C) receives p(z_0), joints (B, N−1, C, C) the pairs."""
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    last = length - 1  # edges 0 .. last − 1 count
    edges += b * (N - 1) * C * C
    joints += b * (N - 1) * C * C
    messages += b * 2 * N * C
    i = tl.arange(0, BLOCK)
    start = tl.where(i < C, 0.0, float("-inf")).to(edges.dtype.element_ty)
    message = tl.where(tl.arange(0, 2)[:, None] == 0, start[None, :], start[None, :])
    if init is not None:
        first = tl.load(init + b * C + i, mask=i < C, other=float("-inf"))
        first = first - finite(tl.max(first, 0))
        message = tl.where(tl.arange(0, 2)[:, None] == 0, first[None, :], message)
    _store_both(messages, 0, last, message, N, C, BLOCK)
    tile = _load_both(edges, 0, last - 1, last, C, BLOCK, float("-inf"))
    for n in range(last):
        m = last - 1 - n
        ahead = _load_both(edges, n + 1, m - 1, last, C, BLOCK, float("-inf"))
        tile = tile - finite(tl.max(tl.max(tile, 2), 1))[:, None, None]
        scores = message[:, :, None] + tile
        best = finite(tl.max(scores, 1))
        message = best + tl.log(tl.sum(tl.exp(scores - best[:, None, :]), 1))
        message = message - finite(tl.max(message, 1))[:, None]
        _store_both(messages, n + 1, m, message, N, C, BLOCK)
        tile = ahead
    tl.debug_barrier()  # threads load what others have stored
    for low in range(0, N - 1, STEPS):
        k = low + tl.arange(0, STEPS)
        at, inside = _edges_at(k, C, BLOCK)
        left, right, exists = _sides_at(k, N, C, BLOCK)
        present = k[:, None] < last
        edge = tl.load(edges + at, mask=inside & (k[:, None, None] < last), other=float("-inf"))
        edge = edge - finite(tl.max(tl.max(edge, 2), 1))[:, None, None]
        before = tl.load(messages + left, mask=exists & present, other=float("-inf"))
        after = tl.load(messages + right, mask=exists & present, other=float("-inf"))
        combined = before[:, :, None] + edge + after[:, None, :]
        likely = tl.exp(combined - finite(tl.max(tl.max(combined, 2), 1))[:, None, None])
        mass = tl.sum(tl.sum(likely, 2), 1)[:, None, None]
        mass = tl.where(mass > 0, mass, 1.0)
        tl.store(joints + at, likely / mass, mask=inside & (k[:, None, None] < N - 1))
    lives = (i < C) & (length > 0)
    score = tl.load(messages + i, mask=lives, other=float("-inf"))
    score += tl.load(messages + N * C + i, mask=lives, other=float("-inf"))
    weights = tl.exp(score - finite(tl.max(score, 0)))
    total = tl.sum(weights, 0)
    tl.store(states + b * C + i, weights / tl.where(total > 0, total, 1.0), mask=i < C)


@triton.jit(do_not_specialize=["N"])
def covariance_kernel(states, joints, lengths, g_states, g_edges, messages, out_states, out_edges, N, C,
                      BLOCK: tl.constexpr, STEPS: tl.constexpr):  # fmt: skip
    b = tl.program_id(0).to(tl.int64)
    length = length_of(lengths, b, N)
    last = length - 1
    joints += b * (N - 1) * C * C
    g_edges += b * (N - 1) * C * C
    out_edges += b * (N - 1) * C * C
    messages += b * 2 * N * C
    i = tl.arange(0, BLOCK)
    mu = tl.load(states + b * C + i, mask=i < C, other=0.0)
    message = tl.where(tl.arange(0, 2)[:, None] == 0, (mu * 0.0)[None, :], (mu * 0.0)[None, :])
    if g_states is not None:
        start = tl.load(g_states + b * C + i, mask=(i < C) & (mu > 0), other=0.0)
        start = start - tl.sum(mu * start, 0)
        message = tl.where(tl.arange(0, 2)[:, None] == 0, start[None, :], message)
    _store_both(messages, 0, last, message, N, C, BLOCK)
    tile = _load_both(joints, 0, last - 1, last, C, BLOCK, 0.0)
    gain = _load_both(g_edges, 0, last - 1, last, C, BLOCK, 0.0)
    for n in range(last):
        m = last - 1 - n
        ahead = _load_both(joints, n + 1, m - 1, last, C, BLOCK, 0.0)
        gain_ahead = _load_both(g_edges, n + 1, m - 1, last, C, BLOCK, 0.0)
        gain = tl.where(tile > 0, tile * gain, 0.0)
        known = tl.sum(gain, 1)
        mean = tl.sum(known, 1)
        message = ratio(known + tl.sum(tile * message[:, :, None], 1), tl.sum(tile, 1)) - mean[:, None]
        _store_both(messages, n + 1, m, message, N, C, BLOCK)
        tile, gain = ahead, gain_ahead
    tl.debug_barrier()
    for low in range(0, N - 1, STEPS):
        k = low + tl.arange(0, STEPS)
        at, inside = _edges_at(k, C, BLOCK)
        left, right, exists = _sides_at(k, N, C, BLOCK)
        present = k[:, None] < last
        joint = tl.load(joints + at, mask=inside & (k[:, None, None] < last), other=0.0)
        pull = tl.load(g_edges + at, mask=inside & (k[:, None, None] < last), other=0.0)
        pull = tl.where(joint > 0, pull, 0.0)
        before = tl.load(messages + left, mask=exists & present, other=0.0)
        after = tl.load(messages + right, mask=exists & present, other=0.0)
        average = tl.sum(tl.sum(joint * pull, 2), 1)[:, None, None]
        change = joint * (before[:, :, None] + pull - average + after[:, None, :])
        tl.store(out_edges + at, change, mask=inside & (k[:, None, None] < N - 1))
    if out_states is not None:
        lives = (i < C) & (length > 0)
        score = tl.load(messages + i, mask=lives, other=0.0)
        score += tl.load(messages + N * C + i, mask=lives, other=0.0)
        tl.store(out_states + b * C + i, mu * score, mask=i < C)
