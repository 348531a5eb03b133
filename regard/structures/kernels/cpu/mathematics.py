# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Maximum, minimum, tanh and the logistic function in a form that the compiler can vectorize and that keeps
NaN. exp is in `exponential`.

In single precision tanh is a ratio of two polynomials (error below 3e-7), in double precision that of the C
library.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic, overload

_BOUND = np.float32(7.90531110763549805)  # beyond it tanh is ±1 to single precision
_P = [-2.76076847742355e-16, 2.00018790482477e-13, -8.60467152213735e-11, 5.12229709037114e-08]
_P += [1.48572235717979e-05, 6.37261928875436e-04, 4.89352455891786e-03]
_Q = [1.19825839466702e-06, 1.18534705686654e-04, 2.26843463243900e-03, 4.89352518554385e-03]
P0, P1, P2, P3, P4, P5, P6 = (np.float32(number) for number in _P)
Q0, Q1, Q2, Q3 = (np.float32(number) for number in _Q)
HALF, ONE = np.float32(0.5), np.float32(1)
_EDGE = np.float32(
    9.1
)  # beyond it the result is exactly ±1, so that a closed gate is exactly 0 and 0 · inf is NaN


def _ordering(name: str) -> Callable[..., Any]:
    """The LLVM intrinsic of this name on two numbers of one type."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        function = builder.module.declare_intrinsic(name, [kind], ir.FunctionType(kind, [kind, kind]))
        return builder.call(function, arguments)

    return generate


@intrinsic  # type: ignore[untyped-decorator]
def larger(typing_context: Any, x: Any, y: Any) -> Any:
    """The larger of two numbers of one type, NaN if either is NaN. The compiler may reorder it."""
    return x(x, x), _ordering("llvm.maximum")


@intrinsic  # type: ignore[untyped-decorator]
def smaller(typing_context: Any, x: Any, y: Any) -> Any:
    """The smaller of two numbers of one type, NaN if either is NaN."""
    return x(x, x), _ordering("llvm.minimum")


@intrinsic  # type: ignore[untyped-decorator]
def product_added(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """x · y + z, rounded once if the CPU can. In a sum of two products the compiler would fuse either of
    them, and not the same one in each kernel."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = arguments[0].type
        function = builder.module.declare_intrinsic(
            "llvm.fmuladd", [kind], ir.FunctionType(kind, [kind, kind, kind])
        )
        return builder.call(function, arguments)

    return x(x, x, x), generate


@intrinsic  # type: ignore[untyped-decorator]
def chosen(typing_context: Any, condition: Any, x: Any, y: Any) -> Any:
    """x if the condition holds, else y; without a branch, so that loops can be vectorized."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return x(condition, x, x), generate


def hyperbolic(x: float) -> float:
    """tanh x."""
    return math.tanh(x)


def logistic(x: float) -> float:
    """1 / (1 + exp(−x)) = (1 + tanh(x/2)) / 2."""
    return 0.5 + 0.5 * math.tanh(0.5 * x)


def _library_hyperbolic(x: Any) -> Any:
    return math.tanh(x)


def _library_logistic(x: Any) -> Any:
    return 0.5 + 0.5 * math.tanh(0.5 * x)


def _fast_hyperbolic(x: Any) -> Any:
    near = smaller(larger(x, -_BOUND), _BOUND)
    y = near * near
    numerator = (((((P0 * y + P1) * y + P2) * y + P3) * y + P4) * y + P5) * y + P6
    bent = near * numerator / (((Q0 * y + Q1) * y + Q2) * y + Q3)
    return chosen(x > _EDGE, ONE, chosen(x < -_EDGE, -ONE, bent))


def _fast_logistic(x: Any) -> Any:
    return HALF + HALF * hyperbolic(HALF * x)


@overload(hyperbolic, inline="always")
def _hyperbolic(x: Any) -> Any:
    return _fast_hyperbolic if x == types.float32 else _library_hyperbolic


@overload(logistic, inline="always")
def _logistic(x: Any) -> Any:
    return _fast_logistic if x == types.float32 else _library_logistic
