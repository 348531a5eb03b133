# mypy: disable-error-code="call-arg"
"""Loops over contiguous rows, as separate functions, so that the compiler sees that they are contiguous."""

from __future__ import annotations

from typing import Any

from regard.structures.kernels.cpu.compilation import reduction

Array = Any


@reduction
def copy(source: Array, target: Array) -> None:
    """Written as a loop: the assignment of one slice to another includes its error messages, which take
    seconds to compile."""
    for j in range(len(source)):
        target[j] = source[j]


@reduction
def dot(first: Array, second: Array) -> Any:
    total = first.dtype.type(0)
    for a in range(len(first)):
        total += first[a] * second[a]
    return total


@reduction
def add(total: Array, factor: Any, other: Array) -> None:
    for a in range(len(total)):
        total[a] += factor * other[a]
