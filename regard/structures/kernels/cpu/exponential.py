# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Exponentials that the compiler can vectorize.

The C library's exp needs one call for each number. Here x = k·ln 2 + r with |r| ≤ ln 2 / 2, exp r is a
polynomial of degree 11 (relative error below 5e-16), and 2^k is built from its bits. In single precision,
where a register holds four numbers, x·log₂ e = k − u with |u| ≤ ½, and 2^−u is a polynomial of degree 5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

from regard.structures.kernels.cpu.compilation import part
from regard.structures.kernels.cpu.mathematics import larger

LN2 = 0.6931471805599453
_SMALLEST = -708.0  # below it exp is subnormal; the result is 0
LOG2_E = 1.4426950408889634
LN2_HIGH = 0.693147180369123816490
LN2_LOW = 1.90821492927058770002e-10
_ROUNDER = 6755399441055744.0  # 1.5·2^52: adding it leaves the nearest integer in the low bits
BIAS = 1023

# The same for single precision. The rounder includes the bias, so that the low bits are those of a power of
# two. At the smallest x they are all 0, and so is the power.
_SMALLEST_SINGLE = np.float32(-127.0 * LN2)
_LOG2_E_SINGLE = np.float32(LOG2_E)
_ROUNDER_SINGLE = np.float32(12582912.0 + 127.0)  # 1.5·2^23
_POWERS = tuple(map(np.float32, (1.0, -0.6931470, 0.24022242, -0.055507336, 0.009671513, -0.0013264727)))


@intrinsic  # type: ignore[untyped-decorator]
def bits_of(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def from_bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@part
def exp_nonpositive(x: float) -> float:
    """exp(x) for x ≤ 709, meant for x ≤ 0; exactly 0 for −inf, NaN for NaN."""
    clipped = _SMALLEST if x < _SMALLEST else x
    shifted = clipped * LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * LN2_HIGH) - k * LN2_LOW
    square = r * r
    fourth = square * square
    # Estrin's scheme: terms in pairs, so that no product waits for more than four others.
    low = (1.0 + r) + square * (0.5000000000000019 + r * 0.1666666666666668)
    middle = (0.04166666666648795 + r * 0.008333333333319589) + square * (
        0.0013888888952352863 + r * 0.00019841269890076403
    )
    high = (2.4801485441561313e-05 + r * 2.755724088722987e-06) + square * (
        2.763265472252779e-07 + r * 2.5110049204818658e-08
    )
    y = low + fourth * (middle + fourth * high)
    power = from_bits((bits_of(shifted) + BIAS) << 52)
    return 0.0 if x < _SMALLEST else y * power


@part
def power_of_two(k: float) -> float:
    """2^k for an integer k ≤ 0; 2^−1022 for all k below −1022, −inf included."""
    clipped = k if k > -1022.0 else -1022.0
    return from_bits(bits_of(clipped + (_ROUNDER + BIAS)) << 52)


@intrinsic  # type: ignore[untyped-decorator]
def _bits_of_single(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(32))

    return types.int32(types.float32), generate


@intrinsic  # type: ignore[untyped-decorator]
def _single_from_bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.FloatType())

    return types.float32(types.int32), generate


@part
def single_exp_nonpositive(x: Any) -> Any:
    """As `exp_nonpositive`, in single precision, for x ≤ 88, with a relative error below 3e-7."""
    clipped = larger(x, _SMALLEST_SINGLE)
    shifted = clipped * _LOG2_E_SINGLE + _ROUNDER_SINGLE
    u = (shifted - _ROUNDER_SINGLE) - clipped * _LOG2_E_SINGLE
    square = u * u
    even = _POWERS[0] + square * (_POWERS[2] + square * _POWERS[4])
    odd = _POWERS[1] + square * (_POWERS[3] + square * _POWERS[5])
    power = _single_from_bits(np.int32(_bits_of_single(shifted) << np.int32(23)))
    return (even + u * odd) * power


def exponential(x: Any) -> Any:
    """exp(x) in the precision of x, inside a kernel; x ≤ 88 in single and x ≤ 709 in double precision."""
    raise NotImplementedError


@overload(exponential, strict=False)  # type: ignore[untyped-decorator]
def _in_its_precision(x: Any) -> Callable[..., Any]:
    if x == types.float32:
        return lambda x: single_exp_nonpositive(x)
    return lambda x: exp_nonpositive(x)
