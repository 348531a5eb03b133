# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Wide numbers: mantissa · 2^exponent, with the mantissa in [1, 2) and the exponent in a separate float.

They neither overflow nor underflow and have 53 bits, and a sum of their products needs neither exp nor log.
Zero has mantissa 0 and exponent −inf.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import part
from regard.structures.kernels.cpu.exponential import BIAS, LN2_HIGH, LN2_LOW, LOG2_E, bits_of, from_bits

Array = NDArray[Any]
_FRACTION = (1 << 52) - 1


@part
def widen(value: float, exponent: float) -> tuple[float, float]:
    """value · 2^exponent as a wide number, for a positive normal value; NaN stays NaN."""
    if math.isnan(value):
        return value, exponent
    bits = bits_of(value)
    return from_bits((bits & _FRACTION) | (BIAS << 52)), exponent + ((bits >> 52) - BIAS)


@part
def wide_exp(x: float) -> tuple[float, float]:
    """exp(x) as a wide number, for any x; NaN for +inf and NaN."""
    if x == -np.inf:
        return 0.0, -np.inf
    if not x < np.inf:
        return np.nan, 0.0
    k = math.floor(x * LOG2_E)
    return math.exp((x - k * LN2_HIGH) - k * LN2_LOW), k


@part
def times(mantissa: float, exponent: float, score: float) -> tuple[float, float]:
    """A wide number times exp(score)."""
    factor, power = wide_exp(score)
    if mantissa == 0.0 or factor == 0.0:
        return 0.0, -np.inf
    return widen(mantissa * factor, exponent + power)


@part
def largest_exponent(left: Array, right: Array) -> float:
    """max_k left[k] + right[k], the scale for a sum of products. An exponent is never NaN."""
    top = -np.inf
    for k in range(left.shape[0]):
        x = left[k] + right[k]
        top = x if x > top else top
    return top
