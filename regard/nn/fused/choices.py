"""From the energies of one query to the weights of its positions, and back: sigmoid and segments.

Segments are a chain of two labels (see `regard.nn.segments`), written in log-odds: l_s of being inside by what lies
before, r_s by what lies behind, with B = exp b,

    l_s = e_s + log ((1 − a) B01 + a B11) − log ((1 − a) B00 + a B10),  a = σ(l_{s−1})
    r_s =       log ((1 − c) B10 + c B11) − log ((1 − c) B00 + c B01),  c = σ(e_{s+1} + r_{s+1})
    p_s = σ(l_s + r_s)

The way back goes along both recursions. A position that does not exist is outside: a or c is 0 behind it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from numba import njit

from regard.nn.fused.mathematics import logistic

Array = Any
SOFTMAX, SIGMOID, SEGMENTS = 0, 1, 2
SMALLEST = 1e-20  # as in `regard.nn.rescaling`
_fast = njit(fastmath=True, error_model="numpy", nogil=True)


class Choice(NamedTuple):
    """How energies become weights.

    kind         SOFTMAX, SIGMOID or SEGMENTS
    normalize    λ, what the weights of the reading sum to; 0: they are the weights as they are
    pairs        (2, 2) B = exp b, for segments
    """

    kind: int
    normalize: float
    pairs: Array


@_fast  # type: ignore[untyped-decorator]
def before(energies: Array, exists: Array, pairs: Array, odds: Array) -> None:
    """l_s of the positions that exist."""
    inside = 0.0
    for s in range(len(energies)):
        if exists[s]:
            odds[s] = energies[s]
            if s > 0:
                one = (1 - inside) * pairs[0, 1] + inside * pairs[1, 1]
                zero = (1 - inside) * pairs[0, 0] + inside * pairs[1, 0]
                odds[s] += math.log(one / zero)
            inside = logistic(odds[s])
        else:
            odds[s] = 0.0
            inside = 0.0


@_fast  # type: ignore[untyped-decorator]
def behind(energies: Array, exists: Array, extent: int, pairs: Array, odds: Array) -> None:
    """r_s of the positions before `extent`, which is one more than the last that exists."""
    inside = 0.0
    for s in range(extent - 1, -1, -1):
        odds[s] = 0.0
        if s < extent - 1:
            one = (1 - inside) * pairs[1, 0] + inside * pairs[1, 1]
            zero = (1 - inside) * pairs[0, 0] + inside * pairs[0, 1]
            odds[s] = math.log(one / zero)
        inside = logistic(energies[s] + odds[s]) if exists[s] else 0.0


@_fast  # type: ignore[untyped-decorator]
def extent_of(exists: Array) -> int:
    for s in range(len(exists) - 1, -1, -1):
        if exists[s]:
            return s + 1
    return 0


@_fast  # type: ignore[untyped-decorator]
def choose(energies: Array, exists: Array, choice: Choice, scratch: Array, weights: Array) -> float:
    """Energies (S) → weights (S), zero where nothing exists; returns what a reading scales them by. scratch (2, S)."""
    if choice.kind == SEGMENTS:
        before(energies, exists, choice.pairs, scratch[0])
        behind(energies, exists, extent_of(exists), choice.pairs, scratch[1])
    total = 0.0
    for s in range(len(energies)):
        weights[s] = 0.0
        if exists[s]:
            odds = energies[s]
            if choice.kind == SEGMENTS:
                odds = scratch[0, s] + scratch[1, s]
            weights[s] = logistic(odds)
            total += weights[s]
    return factor_of(total, choice.normalize)


@_fast  # type: ignore[untyped-decorator]
def factor_of(total: float, normalize: float) -> float:
    if normalize == 0:
        return 1.0
    return normalize / max(total, SMALLEST)


@_fast  # type: ignore[untyped-decorator]
def choose_back(
    energies: Array, exists: Array, choice: Choice, weights: Array, d_weights: Array, scratch: Array,
    d_energies: Array, d_pairs: Array,
) -> None:  # fmt: skip
    """From what the weights receive to what the energies do; d_pairs (2, 2) of b is added to; scratch (4, S)."""
    for s in range(len(energies)):
        d_energies[s] = d_weights[s] * weights[s] * (1 - weights[s]) if exists[s] else 0.0
    if choice.kind != SEGMENTS:
        return
    pairs, extent = choice.pairs, extent_of(exists)
    left, right, d_left, d_right = scratch[0], scratch[1], scratch[2], scratch[3]
    before(energies, exists, pairs, left)
    behind(energies, exists, extent, pairs, right)
    for s in range(extent):
        # p = σ(l + r): both receive the same
        d_left[s] = d_energies[s]
        d_right[s] = d_energies[s]
        d_energies[s] = 0.0
    _behind_back(energies, exists, extent, pairs, right, d_right, d_energies, d_pairs)
    _before_back(exists, extent, pairs, left, d_left, d_energies, d_pairs)


@_fast  # type: ignore[untyped-decorator]
def _behind_back(
    energies: Array, exists: Array, extent: int, pairs: Array, odds: Array, d_odds: Array,
    d_energies: Array, d_pairs: Array,
) -> None:  # fmt: skip
    for s in range(extent - 1):
        inside = logistic(energies[s + 1] + odds[s + 1]) if exists[s + 1] else 0.0
        one = d_odds[s] / ((1 - inside) * pairs[1, 0] + inside * pairs[1, 1])
        zero = -d_odds[s] / ((1 - inside) * pairs[0, 0] + inside * pairs[0, 1])
        d_pairs[1, 0] += one * (1 - inside) * pairs[1, 0]
        d_pairs[1, 1] += one * inside * pairs[1, 1]
        d_pairs[0, 0] += zero * (1 - inside) * pairs[0, 0]
        d_pairs[0, 1] += zero * inside * pairs[0, 1]
        d_inside = one * (pairs[1, 1] - pairs[1, 0]) + zero * (pairs[0, 1] - pairs[0, 0])
        if exists[s + 1]:
            change = d_inside * inside * (1 - inside)
            d_energies[s + 1] += change
            d_odds[s + 1] += change


@_fast  # type: ignore[untyped-decorator]
def _before_back(
    exists: Array, extent: int, pairs: Array, odds: Array, d_odds: Array, d_energies: Array, d_pairs: Array
) -> None:
    for s in range(extent - 1, -1, -1):
        if exists[s]:
            d_energies[s] += d_odds[s]
            if s > 0:
                inside = logistic(odds[s - 1]) if exists[s - 1] else 0.0
                one = d_odds[s] / ((1 - inside) * pairs[0, 1] + inside * pairs[1, 1])
                zero = -d_odds[s] / ((1 - inside) * pairs[0, 0] + inside * pairs[1, 0])
                d_pairs[0, 1] += one * (1 - inside) * pairs[0, 1]
                d_pairs[1, 1] += one * inside * pairs[1, 1]
                d_pairs[0, 0] += zero * (1 - inside) * pairs[0, 0]
                d_pairs[1, 0] += zero * inside * pairs[1, 0]
                d_inside = one * (pairs[1, 1] - pairs[0, 1]) + zero * (pairs[1, 0] - pairs[0, 0])
                if exists[s - 1]:
                    d_odds[s - 1] += d_inside * inside * (1 - inside)
