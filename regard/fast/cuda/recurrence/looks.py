# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Score, select and read in one kernel, backward in another; one program for each row of the batch.

    e_s = Σ_a v_a tanh(q_a + k_sa)        additive        e_s = scale Σ_a q_a k_sa        otherwise
    α = select(e),  ρ = reading(α),  c = Σ_s ρ_s x_s

    dρ_s = dc · x_s,  dα, de as in `selecting`,  dq_a = v_a Σ_s de_s (1 − tanh²(q_a + k_sa))  or  scale Σ_s de_s k_sa

The backward pass recomputes tanh, so nothing of size S · A is kept. The gradients of keys and values, sums
over time, are left to one kernel (`keys`) and one product after the loop.

A row that has ended (alive (B) is zero) reads and writes zeros, at almost no cost.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.fast.cuda.recurrence.gates import tanh
from regard.fast.cuda.recurrence.selecting import reading_of, scores_back, through_reading, weights_of


@triton.jit
def _tile(base, s, known, d, D: tl.constexpr):
    """(positions, features) of one row's keys or values, zeros where masked."""
    return tl.load(base + s[:, None] * D + d[None, :], mask=known[:, None] & (d < D)[None, :], other=0.0)


@triton.jit(do_not_specialize=["S"], do_not_specialize_on_alignment=["alive"])
def look_forth(query, keys, values, vector, transitions, mask, alive, context, weights, joints, S,
               QW: tl.constexpr, CW: tl.constexpr, A: tl.constexpr, D: tl.constexpr,
               SCALE: tl.constexpr, MASS: tl.constexpr, ADDITIVE: tl.constexpr, SELECT: tl.constexpr,
               BLOCK_S: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_D: tl.constexpr,
               SHARED: tl.constexpr = 1):  # fmt: skip
    """query (B, ·) rows QW apart, context (B, ·) rows CW apart, weights (B, S); keys (M, S, A), values (M, S, D) and
    mask (M, S) of the memories, each attended to by `SHARED` rows: B = M · SHARED. Without `alive`, all rows
    live.
    """
    b = tl.program_id(0).to(tl.int64)
    m = b // SHARED
    s = tl.arange(0, BLOCK_S)
    here = s < S
    query += b * QW
    keys += m * S * A
    values += m * S * D
    context += b * CW
    weights += b * S
    if SELECT == "segments":
        joints += b * S * 4
    if alive is None:
        lives = 1
    else:
        lives = tl.load(alive + b)
    if lives != 0:
        known = tl.load(mask + m * S + s, mask=here, other=0) != 0
        total = tl.zeros([BLOCK_S, BLOCK_A], keys.dtype.element_ty)
        for first in tl.static_range(0, A, BLOCK_A):
            a = first + tl.arange(0, BLOCK_A)
            k = _tile(keys, s, known, a, A)
            q = tl.load(query + a, mask=a < A, other=0.0)
            if ADDITIVE:
                v = tl.load(vector + a, mask=a < A, other=0.0)
                total += v[None, :] * tanh(q[None, :] + k)
            else:
                total += q[None, :] * k
        e = tl.sum(total, 1)
        if SCALE != 1.0:
            e = e * SCALE
        alpha = weights_of(e, known, s, S, weights, transitions, joints, SELECT)
        rho = reading_of(alpha, MASS)
        for first in tl.static_range(0, D, BLOCK_D):
            d = first + tl.arange(0, BLOCK_D)
            c = tl.sum(rho[:, None] * _tile(values, s, known, d, D), 0)
            tl.store(context + d, c, mask=d < D)
    else:
        tl.store(weights + s, tl.zeros([BLOCK_S], weights.dtype.element_ty), mask=here)
        for first in tl.static_range(0, D, BLOCK_D):
            d = first + tl.arange(0, BLOCK_D)
            tl.store(context + d, tl.zeros([BLOCK_D], context.dtype.element_ty), mask=d < D)


@triton.jit(do_not_specialize=["S"], do_not_specialize_on_alignment=["alive"])
def look_back(query, keys, values, vector, mask, alive, weights, joints, d_context, d_weights, d_scores,
              d_query, queries, d_transitions, S, QW: tl.constexpr, CW: tl.constexpr, GW: tl.constexpr,
              A: tl.constexpr, D: tl.constexpr, SCALE: tl.constexpr, MASS: tl.constexpr,
              ADDITIVE: tl.constexpr, SELECT: tl.constexpr, BLOCK_S: tl.constexpr, BLOCK_A: tl.constexpr,
              BLOCK_D: tl.constexpr):  # fmt: skip
    """For additive scores dq replaces q, which moves to `queries` (B, A); otherwise dq is added to d_query
    (B, ·), rows GW apart.
    """
    b = tl.program_id(0).to(tl.int64)
    s = tl.arange(0, BLOCK_S)
    here = s < S
    query += b * QW
    keys += b * S * A
    values += b * S * D
    d_context += b * CW
    weights += b * S
    d_scores += b * S
    d_query += b * GW
    if ADDITIVE:
        queries += b * A
    if SELECT == "segments":
        joints += b * S * 4
        d_transitions += b * 4
    if tl.load(alive + b) != 0:
        known = tl.load(mask + b * S + s, mask=here, other=0) != 0
        alpha = tl.load(weights + s, mask=here, other=0.0)
        total = tl.zeros([BLOCK_S, BLOCK_D], keys.dtype.element_ty)
        for first in tl.static_range(0, D, BLOCK_D):
            d = first + tl.arange(0, BLOCK_D)
            dc = tl.load(d_context + d, mask=d < D, other=0.0)
            total += dc[None, :] * _tile(values, s, known, d, D)
        d_alpha = through_reading(alpha, tl.sum(total, 1), MASS)
        if d_weights is not None:
            d_alpha += tl.load(d_weights + b * S + s, mask=here, other=0.0)
        d_e = scores_back(alpha, d_alpha, known, s, S, weights, joints, d_scores, d_transitions, SELECT)
        if SCALE != 1.0:
            d_e = d_e * SCALE
        for first in tl.static_range(0, A, BLOCK_A):
            a = first + tl.arange(0, BLOCK_A)
            k = _tile(keys, s, known, a, A)
            if ADDITIVE:
                q = tl.load(query + a, mask=a < A, other=0.0)
                v = tl.load(vector + a, mask=a < A, other=0.0)
                bent = tanh(q[None, :] + k)
                dq = v * tl.sum(d_e[:, None] * (1.0 - bent * bent), 0)
                tl.store(queries + a, q, mask=a < A)
                tl.debug_barrier()  # every thread must have loaded q before dq replaces it
            else:
                dq = tl.load(d_query + a, mask=a < A, other=0.0) + tl.sum(d_e[:, None] * k, 0)
            tl.store(d_query + a, dq, mask=a < A)
    else:
        tl.store(d_scores + s, tl.zeros([BLOCK_S], weights.dtype.element_ty), mask=here)
        if SELECT == "segments":
            for corner in tl.static_range(4):
                tl.store(d_transitions + corner, 0.0)
        if ADDITIVE:
            for first in tl.static_range(0, A, BLOCK_A):
                a = first + tl.arange(0, BLOCK_A)
                tl.store(queries + a, tl.zeros([BLOCK_A], weights.dtype.element_ty), mask=a < A)
                tl.store(d_query + a, tl.zeros([BLOCK_A], weights.dtype.element_ty), mask=a < A)
