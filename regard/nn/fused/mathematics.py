"""tanh, the logistic function and exp, written so that the compiler evaluates several at once.

In single precision tanh is a ratio of two polynomials (error below 3e-7) and exp is 2^k times a polynomial; in double
precision both are the C library's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, prange, types
from numba.extending import intrinsic, overload

from regard.structures.kernels.cpu.compilation import compiled

_BOUND = np.float32(7.90531110763549805)  # beyond it tanh is ±1 to single precision
_P = [-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08]
_P += [1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03]
_Q = [1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03]
P0, P1, P2, P3, P4, P5, P6 = (np.float32(number) for number in _P)
Q0, Q1, Q2, Q3 = (np.float32(number) for number in _Q)

_LOG2_E = np.float32(1.44269504)
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDER = np.float32(12582912.0)  # 1.5·2^23: adding it leaves the nearest integer in the low bits
_HIGHEST = np.float32(87.0)
_E = [1.0 / math.factorial(power) for power in range(7)]
E2, E3, E4, E5, E6 = (np.float32(number) for number in _E[2:])
ONE, HALF = np.float32(1.0), np.float32(0.5)


@intrinsic  # type: ignore[untyped-decorator]
def _power_of_two(typing_context: Any, shifted: Any) -> Any:
    """2^k from the float32 `k + 1.5·2^23`, put together from its bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        bits = builder.bitcast(arguments[0], word)
        exponent = builder.add(bits, ir.Constant(word, 127))
        return builder.bitcast(builder.shl(exponent, ir.Constant(word, 23)), ir.FloatType())

    return types.float32(types.float32), generate


@njit(fastmath={"contract"}, error_model="numpy")  # type: ignore[untyped-decorator]
def _single_exponential(x: Any) -> Any:
    # Not inlined by numba, which would lend it the caller's freedom to reorder and undo the rounding trick.
    x = min(max(x, -_HIGHEST), _HIGHEST)
    shifted = x * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = x - k * _LN2_HIGH
    r = r - k * _LN2_LOW
    p = (((E6 * r + E5) * r + E4) * r + E3) * r + E2
    return ((p * r + ONE) * r + ONE) * _power_of_two(shifted)  # type: ignore[call-arg]


def exponential(x: float) -> float:
    """exp x; in single precision |x| is taken to be at most 87."""
    return math.exp(x)


def hyperbolic(x: float) -> float:
    """tanh x."""
    return math.tanh(x)


def logistic(x: float) -> float:
    """1 / (1 + exp(−x)) = (1 + tanh(x/2)) / 2."""
    return 0.5 + 0.5 * math.tanh(0.5 * x)


def _library_exponential(x: Any) -> Any:
    return math.exp(x)


def _library_hyperbolic(x: Any) -> Any:
    return math.tanh(x)


def _library_logistic(x: Any) -> Any:
    return 0.5 + 0.5 * math.tanh(0.5 * x)


def _fast_exponential(x: Any) -> Any:
    return _single_exponential(x)


def _fast_hyperbolic(x: Any) -> Any:
    x = min(max(x, -_BOUND), _BOUND)
    y = x * x
    numerator = (((((P0 * y + P1) * y + P2) * y + P3) * y + P4) * y + P5) * y + P6
    return x * numerator / (((Q0 * y + Q1) * y + Q2) * y + Q3)


def _fast_logistic(x: Any) -> Any:
    return HALF + HALF * hyperbolic(HALF * x)


@overload(exponential, inline="always")
def _exponential(x: Any) -> Any:
    return _fast_exponential if x == types.float32 else _library_exponential


@overload(hyperbolic, inline="always")
def _hyperbolic(x: Any) -> Any:
    return _fast_hyperbolic if x == types.float32 else _library_hyperbolic


@overload(logistic, inline="always")
def _logistic(x: Any) -> Any:
    return _fast_logistic if x == types.float32 else _library_logistic


@njit(fastmath=True, error_model="numpy", nogil=True)  # type: ignore[untyped-decorator]
def _hyperbolic_row(row: Any) -> None:
    for j in range(len(row)):
        row[j] = hyperbolic(row[j])


def _hyperbolic_rows(rows: Any) -> None:
    for i in prange(len(rows)):
        _hyperbolic_row(rows[i])


hyperbolic_in_place = compiled(_hyperbolic_rows, parallel=True, nogil=True)
