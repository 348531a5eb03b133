# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Selections inside a kernel: scores e (S) of one query → weights α (S), and dα → de.

    softmax    α = exp e / Σ exp e            de = α (dα − Σ α dα)
    sigmoid    α = σ(e)                       de = dα α(1 − α)
    segments   α_s = p(z_s = 1) of the chain  de by `two_states`, which also gives the gradient of the transitions

A reading uses ρ = α / γ with γ = Σ α / mass (mass 0: ρ = α); then dα = (dρ − Σ dρ ρ / mass) / γ. Masked
positions (`known` false) have weight zero. The scans of a chain need its scores in memory: they are stored
where the weights will be, and its gradients where those of the scores will be.
"""

from __future__ import annotations

import triton
import triton.language as tl

from regard.fast.cuda.recurrence.gates import sigmoid
from regard.structures.kernels.cuda.two_states import pair_gradients, pair_marginals

SMALLEST: tl.constexpr = tl.constexpr(1e-20)
"""Lower bound for a sum of weights in a division."""


@triton.jit
def extent(known, s):
    """Index of the last unmasked position, plus 1."""
    return tl.max(tl.where(known, s + 1, 0), 0)


@triton.jit
def weights_of(e, known, s, S, weights, transitions, joints, SELECT: tl.constexpr):
    """Store the weights of one query at `weights` (S), and for a chain the pairs at `joints` (S, 4)."""
    if SELECT == "softmax":
        lowered = tl.where(known, e, float("-inf"))
        top = tl.max(lowered, 0)
        grown = tl.exp(lowered - tl.where(top == float("-inf"), 0.0, top))
        total = tl.sum(grown, 0)
        alpha = grown / tl.where(total == 0, 1.0, total)
    elif SELECT == "sigmoid":
        alpha = tl.where(known, sigmoid(e), 0.0)
    else:
        tl.store(weights + s, tl.where(known, e, float("-inf")), mask=s < S)
        tl.debug_barrier()
        length = extent(known, s)
        x00, x01, x10, x11 = pair_marginals(None, weights, transitions, s, length)
        alpha = tl.where(s < length, x10 + x11, 0.0)
        tl.debug_barrier()
        here = s < S
        tl.store(joints + s * 4, x00, mask=here)
        tl.store(joints + s * 4 + 1, x01, mask=here)
        tl.store(joints + s * 4 + 2, x10, mask=here)
        tl.store(joints + s * 4 + 3, x11, mask=here)
    tl.store(weights + s, alpha, mask=s < S)
    return alpha


@triton.jit
def reading_of(alpha, MASS: tl.constexpr):
    if MASS > 0:
        gamma = tl.maximum(tl.sum(alpha, 0), SMALLEST) / MASS
        alpha = alpha / gamma
    return alpha


@triton.jit
def through_reading(alpha, d_rho, MASS: tl.constexpr):
    """dρ → dα."""
    if MASS > 0:
        gamma = tl.maximum(tl.sum(alpha, 0), SMALLEST) / MASS
        mean = tl.sum(d_rho * alpha / gamma, 0) / MASS
        d_rho = (d_rho - mean) / gamma
    return d_rho


@triton.jit
def scores_back(alpha, d_alpha, known, s, S, weights, joints, d_scores, d_transitions, SELECT: tl.constexpr):
    """Store de at `d_scores` (S), and for a chain the gradient of the four transitions at `d_transitions`."""
    here = s < S
    if SELECT == "softmax":
        d_e = alpha * (d_alpha - tl.sum(alpha * d_alpha, 0))
        tl.store(d_scores + s, d_e, mask=here)
    elif SELECT == "sigmoid":
        d_e = d_alpha * alpha * (1.0 - alpha)
        tl.store(d_scores + s, d_e, mask=here)
    else:
        tl.store(d_scores + s, d_alpha, mask=here)
        tl.debug_barrier()
        length = extent(known, s)
        v00, v01, v10, v11, _, one = pair_gradients(weights, joints, None, d_scores, s, length, True)
        tl.debug_barrier()
        lives = s < length - 1
        tl.store(d_scores + s * 0, one, mask=s == 0)
        tl.store(d_scores + s + 1, tl.where(lives, v01 + v11, 0.0), mask=s < S - 1)
        tl.store(d_transitions, tl.sum(tl.where(lives, v00, 0.0), 0))
        tl.store(d_transitions + 1, tl.sum(tl.where(lives, v01, 0.0), 0))
        tl.store(d_transitions + 2, tl.sum(tl.where(lives, v10, 0.0), 0))
        tl.store(d_transitions + 3, tl.sum(tl.where(lives, v11, 0.0), 0))
        tl.debug_barrier()
        d_e = tl.load(d_scores + s, mask=here, other=0.0)
    return tl.where(known, d_e, 0.0)
