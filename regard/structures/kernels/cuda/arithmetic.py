# mypy: disable-error-code="no-untyped-def, untyped-decorator"
"""Helpers of the kernels of chains and trees: finite arithmetic, and the length of a row."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def finite(x):
    return tl.where(x == float("-inf"), 0.0, x)


@triton.jit
def ratio(value, weight):
    return value / tl.where(weight > 0, weight, 1.0)


@triton.jit
def length_of(lengths, b, N):
    length = N
    if lengths is not None:
        length = tl.load(lengths + b).to(tl.int32)
    return length
