# mypy: disable-error-code="no-any-return, call-arg, var-annotated"
"""The best projective tree on the CPU: Eisner's algorithm with maxima; items as in `projective`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.structures.kernels.cpu.compilation import kernel, part

Array = NDArray[Any]


@part
def _best(left: Array, right: Array) -> tuple[float, int]:
    """The largest sum and its index; NaN if a sum is NaN."""
    top, where = -np.inf, 0
    for k in range(left.shape[0]):
        x = left[k] + right[k]
        if x > top or x != x:
            top, where = x, k
    return top, where


@part
def _inside(arcs: Array, n: int, single_root: bool, complete: Array, turned: Array, arc: Array, complete_at: Array,
            split_at: Array) -> None:  # fmt: skip
    """The score of each item, and the r of its best split."""
    for h in range(n + 1):
        complete[h, h] = turned[h, h] = 0.0
    for width in range(1, n + 1):
        for s in range(n + 1 - width):
            t = s + width
            r = s + 1 if single_root and s == 0 else t
            value, where = _best(complete[s, s:r], complete[t, s + 1 : r + 1])
            split_at[s, t] = s + where
            arc[s, t] = value + arcs[s, t]
            arc[t, s] = value + arcs[t, s] if s > 0 else -np.inf
            value, where = _best(arc[s, s + 1 : t + 1], turned[t, s + 1 : t + 1])
            complete[s, t] = turned[t, s] = value
            complete_at[s, t] = s + 1 + where
            value, where = _best(arc[t, s:t], turned[s, s:t])
            complete[t, s] = turned[s, t] = value
            complete_at[t, s] = s + where


@part
def _read(n: int, complete_at: Array, split_at: Array, heads: Array, stack: Array) -> None:
    """Walk the best items from complete[0, n] down; the stack holds (head, end) of complete items."""
    stack[0, 0], stack[0, 1] = 0, n
    depth = 1
    while depth > 0:
        depth -= 1
        head, end = stack[depth, 0], stack[depth, 1]
        if head == end:
            continue
        modifier = complete_at[head, end]
        heads[modifier] = head
        s, t = min(head, modifier), max(head, modifier)
        r = split_at[s, t]
        stack[depth, 0], stack[depth, 1] = modifier, end
        stack[depth + 1, 0], stack[depth + 1, 1] = s, r
        stack[depth + 2, 0], stack[depth + 2, 1] = t, r + 1
        depth += 3


@kernel
def mode(
    arcs: Array, lengths: Array, single_root: bool, scores: Array, heads: Array, first: int, last: int
) -> None:
    """heads[b, m] of the best tree; stays −1 for the root symbol, beyond the length, and if no tree is
    possible.
    """
    size = arcs.shape[1]
    complete, turned, arc = np.empty((size, size)), np.empty((size, size)), np.empty((size, size))
    complete_at, split_at = np.empty((size, size), np.int64), np.empty((size, size), np.int64)
    stack = np.empty((3 * size + 3, 2), np.int64)
    for b in range(first, last):
        n = lengths[b]
        _inside(arcs[b], n, single_root, complete, turned, arc, complete_at, split_at)
        scores[b] = complete[0, n]
        if complete[0, n] > -np.inf:
            _read(n, complete_at, split_at, heads[b], stack)
