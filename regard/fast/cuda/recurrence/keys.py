# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""The gradients of additive keys and of their vector, summed over time with the keys in registers.

dk_sa = v_a Σ_t de_ts (1 − tanh²(q_ta + k_sa))          dv_a = Σ_t Σ_s de_ts tanh(q_ta + k_sa)
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.fast.cuda.recurrence.gates import tanh


@triton.jit(do_not_specialize=["T", "B", "S"])
def keys_back(queries, keys, vector, d_scores, d_keys, d_vector, T, B, S, A: tl.constexpr,
              BLOCK_S: tl.constexpr, BLOCK_A: tl.constexpr):  # fmt: skip
    """queries (T, B, A), d_scores (T, B, S), keys and d_keys (B, S, A), d_vector (B, blocks, A)."""
    b, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    s = block * BLOCK_S + tl.arange(0, BLOCK_S)
    a = tl.program_id(2) * BLOCK_A + tl.arange(0, BLOCK_A)
    there = (s < S)[:, None] & (a < A)[None, :]
    place = (b * S + s)[:, None] * A + a[None, :]
    k = tl.load(keys + place, mask=there, other=0.0)
    v = tl.load(vector + a, mask=a < A, other=0.0)
    d_k = tl.zeros([BLOCK_S, BLOCK_A], keys.dtype.element_ty)
    d_v = tl.zeros([BLOCK_S, BLOCK_A], keys.dtype.element_ty)
    at = b
    for _ in range(T):
        q = tl.load(queries + at * A + a, mask=a < A, other=0.0)
        d_e = tl.load(d_scores + at * S + s, mask=s < S, other=0.0)
        bent = tanh(q[None, :] + k)
        d_v += d_e[:, None] * bent
        d_k += d_e[:, None] * (1.0 - bent * bent)
        at += B
    tl.store(d_keys + place, d_k * v[None, :], mask=there)
    tl.store(d_vector + (b * tl.num_programs(1) + block) * A + a, tl.sum(d_v, 0), mask=a < A)
