"""How a kernel for the processor is compiled: released from the interpreter's lock, kept on disk where that is
possible.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

# Contraction (a·b + c in one rounding) is the only liberty: reordering sums would undo the rounding trick in
# `exponential`, and promising finite numbers would make −inf undefined.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": {"contract"}, "error_model": "numpy"}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile `function` at its first call, for the types it is called with.

    The machine code is cached beside the source, else in the user's cache folder; where neither can be
    written, numba refuses to cache and the function is compiled in memory.
    """
    return compiled(function, **_OPTIONS)


def reduction(function: Callable[..., Any]) -> Any:
    """As `kernel`, for a sum over a row in whatever order fills the registers."""
    return compiled(function, **{**_OPTIONS, "fastmath": {"contract", "reassoc", "nsz"}})


def comparison(function: Callable[..., Any]) -> Any:
    """As `kernel`, for a maximum over a row, which is order-free only once NaN is out of the question."""
    return compiled(function, **{**_OPTIONS, "fastmath": {"nsz", "nnan"}})


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:
        return njit(**options)(function)
