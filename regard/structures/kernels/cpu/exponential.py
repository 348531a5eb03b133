"""exp for arguments that are never positive, written so that the compiler can evaluate several at once.

The C library's exp is a call for each number. Here x = k·ln 2 + r with |r| ≤ ln 2 / 2, exp r is a polynomial of degree 11
(relative error below 3e-16) and 2^k is put together from its bits.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from regard.structures.kernels.cpu.compilation import kernel

SMALLEST = -708.0  # below it exp leaves the normal numbers; the answer is 0
_LOG2_E = 1.4426950408889634
_LN2_HIGH = 0.693147180369123816490
_LN2_LOW = 1.90821492927058770002e-10
_ROUNDER = 6755399441055744.0  # 1.5·2^52: adding it leaves the nearest integer in the low bits


@intrinsic  # type: ignore[untyped-decorator]
def _bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic  # type: ignore[untyped-decorator]
def _from_bits(typing_context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), generate


@kernel
def exp_nonpositive(x: float) -> float:
    """exp(x) for x ≤ 0; exactly 0 for −inf, NaN for NaN."""
    clipped = SMALLEST if x < SMALLEST else x
    shifted = clipped * _LOG2_E + _ROUNDER
    k = shifted - _ROUNDER
    r = (clipped - k * _LN2_HIGH) - k * _LN2_LOW
    y = 2.763265472252779e-07 + r * 2.5110049204818658e-08
    y = 2.755724088722987e-06 + r * y
    y = 2.4801485441561313e-05 + r * y
    y = 0.00019841269890076403 + r * y
    y = 0.0013888888952352863 + r * y
    y = 0.008333333333319589 + r * y
    y = 0.04166666666648795 + r * y
    y = 0.1666666666666668 + r * y
    y = 0.5000000000000019 + r * y
    y = 1.0 + r * y
    y = 1.0 + r * y
    power = _from_bits((_bits(shifted) + 1023) << 52)
    return 0.0 if x < SMALLEST else y * power
