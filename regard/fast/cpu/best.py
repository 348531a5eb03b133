# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""Normalize and rank many rows of logits, for each step of a search over a large vocabulary."""

from __future__ import annotations

from typing import Any

import numpy as np

from regard.fast.cpu.lanes import LANES, above_bits, lowest_bit
from regard.structures.kernels.cpu.compilation import kernel, part, reduction
from regard.structures.kernels.cpu.exponential import exponential
from regard.structures.kernels.cpu.mathematics import larger

Array = Any


@reduction
def highest_of(row: Array) -> Any:
    """The maximum; NaN if an element is NaN."""
    highest = row[0]
    for j in range(len(row)):
        highest = larger(highest, row[j])
    return highest


@reduction
def summed(row: Array, highest: Any) -> Any:
    total = row.dtype.type(0)
    for j in range(len(row)):
        total += exponential(row[j] - highest)
    return total


@kernel
def normalize_rows(logits: Array, out: Array, first: int, last: int) -> None:
    """log Σ exp of each row; −inf if all are −inf, NaN or inf if one is."""
    for i in range(first, last):
        highest = highest_of(logits[i])
        # an infinite maximum is the result; subtracting it would give NaN
        out[i] = highest if np.isinf(highest) else highest + np.log(summed(logits[i], highest))


@part
def above(value: Any, other: Any) -> bool:
    """Whether a value ranks before another; NaN ranks first, as with torch."""
    return value > other or (value != value and other == other)


@part
def insert(value: Any, word: int, values: Array, words: Array) -> None:
    """Insert into the sorted row of best values; among equals the earlier word comes first."""
    place = len(values) - 1
    while place > 0 and above(value, values[place - 1]):
        values[place], words[place] = values[place - 1], words[place - 1]
        place -= 1
    values[place], words[place] = value, word


@part
def gather_best(row: Array, low: int, best: Array, words: Array) -> None:
    """Add the numbers of a row, of the words from `low` on, to the sorted best so far."""
    whole = len(row) - len(row) % LANES
    for first in range(0, whole, LANES):
        bits = above_bits(row, first, best[-1])
        while bits != 0:
            j = first + lowest_bit(bits)
            bits &= bits - 1
            if above(row[j], best[-1]):
                insert(row[j], low + j, best, words)
    for j in range(whole, len(row)):
        if above(row[j], best[-1]):
            insert(row[j], low + j, best, words)


@kernel
def top_rows(logits: Array, values: Array, words: Array, first: int, last: int) -> None:
    """The best of each row, sorted; −inf and 0 if all are −inf."""
    for i in range(first, last):
        values[i, :] = -np.inf
        words[i, :] = 0
        gather_best(logits[i], 0, values[i], words[i])
