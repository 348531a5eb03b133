"""Measures of one order of the positions for one output piece: comprehensiveness, sufficiency, rank correlation.

p(y_t | x) is the probability of the piece given the pieces before it. r is a set of positions of x; x∖r is the input
without them, and r alone the input of nothing else.

    comprehensiveness(k) = p(y_t | x) − p(y_t | x∖r_k)       high: what was removed was needed
    sufficiency(k)       = p(y_t | x) − p(y_t | r_k)         low: what was kept was enough
    AOPC                 = their mean over the bins q of k = ⌈q S⌉

r_k are the first k positions of the order (DeYoung et al. 2020). ERASER divides the sum by one more than the number of
bins, which counts the removal of nothing; here it is the mean over the bins that remove something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from regard.data.ragged import Array
from regard.questions.faithfulness.ranking import BINS, only_top, sizes, without_top

TIE = 0.05
"""Probability within which two removals are equally harmful."""
Given = Callable[[Array], Array]
"""(S,) kept positions → (T,) log p of the pieces."""


def comprehensiveness(
    full: float, given: Given, order: Array, step: int, bins: Sequence[float] = BINS
) -> float:
    """The mean loss of probability of piece `step` when the first of the order are removed.

    full   log p of the piece with the whole input
    """
    lost = [
        np.exp(full) - np.exp(given(without_top(order, count))[step]) for count in sizes(len(order), bins)
    ]
    return float(np.mean(lost))


def sufficiency(full: float, given: Given, order: Array, step: int, bins: Sequence[float] = BINS) -> float:
    """The mean loss of probability of piece `step` when only the first of the order are kept."""
    lost = [np.exp(full) - np.exp(given(only_top(order, count))[step]) for count in sizes(len(order), bins)]
    return float(np.mean(lost))


def lost_alone(scores: Array, effects: Array) -> Array:
    """(T, S) how much of p(y_t) the removal of each single position costs.

    scores    (T,) log p of the pieces
    effects   (T, S) by how much it falls when a position is removed
    """
    return np.asarray(np.exp(scores)[:, None] * (1.0 - np.exp(-effects)))


def most_harmful(costs: Array) -> Array:
    """(T, S) 1 for the positions whose removal costs most, up to `TIE`: if two removals destroy a piece, their order
    says nothing. NaN for a piece that no single removal costs `TIE`.

    costs   (T, S) as `lost_alone` gives them
    """
    worst = costs.max(1, keepdims=True)
    return np.where(worst >= TIE, (costs >= worst - TIE).astype(np.float64), np.nan)


def kendall(first: Array, second: Array) -> float:
    """Kendall's τ_b of two rankings; NaN if one of them is constant."""
    one = np.sign(np.round(first[:, None] - first[None, :], 9))
    two = np.sign(np.round(second[:, None] - second[None, :], 9))
    scale = np.sqrt((one**2).sum() * (two**2).sum())
    return float((one * two).sum() / scale) if scale else float("nan")


def total_variation(first: Array, second: Array) -> Array:
    """(…) ½ Σ_v |p_v − q_v| of distributions (…, V)."""
    return np.asarray(0.5 * np.abs(first - second).sum(-1))


def jensen_shannon(first: Array, second: Array) -> Array:
    """(…) Jensen–Shannon divergence in nats, at most log 2."""
    middle = 0.5 * (first + second)

    def divergence(p: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(p > 0, p * (np.log(p) - np.log(middle)), 0.0)
        return np.asarray(terms.sum(-1))

    return np.maximum(0.5 * (divergence(first) + divergence(second)), 0.0)
