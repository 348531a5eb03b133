"""The mean of a few values with an interval by Student's t.

    mean ± t(k − 1) · s / √k

s is the standard deviation of the k values with k − 1 in its denominator. The distribution function of t with a whole
number of degrees of freedom is a finite sum (Abramowitz and Stegun 26.7.3 and 26.7.4).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from regard.metrics.significance import ConfidenceInterval


def mean_interval(values: Sequence[float], *, level: float = 0.95) -> ConfidenceInterval:
    """The mean and the interval; its bounds are NaN for a single value."""
    count = len(values)
    mean = math.fsum(values) / count
    if count < 2:
        return ConfidenceInterval(mean, math.nan, math.nan, level, count)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    half = t_quantile(level, count - 1) * spread
    return ConfidenceInterval(mean, mean - half, mean + half, level, count)


def t_quantile(level: float, freedom: int) -> float:
    """The t with P(|T| ≤ t) = level."""
    low, high = 0.0, 1.0
    while _within(high, freedom) < level:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _within(middle, freedom) < level else (low, middle)
    return high


def _within(t: float, freedom: int) -> float:
    """P(|T| ≤ t)"""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for number in range(odd, freedom - 1, 2):
        total += term
        term *= cosine**2 * (number + 1) / (number + 2)
    if not odd:
        return math.sin(angle) * total
    return 2.0 / math.pi * (angle + math.sin(angle) * total)
