"""Buckets: sizes rounded up, so that batches of similar size share recordings and compiled kernels."""

from __future__ import annotations


def rounded(size: int, parts: int, least: int) -> int:
    """Round `size` up to a multiple of `least`, by less than max(`least`, `size` / `parts`)."""
    step = max(least, (1 << size.bit_length() >> 1) // parts)
    return -(-size // step) * step


def rounded_rows(count: int) -> int:
    """Bucket for the number of rows of a batch or a search."""
    return rounded(count, 8, 4)


def rounded_steps(count: int) -> int:
    """Bucket for the number of steps of a recurrence. Up to 16 steps are exact: one more would cost much."""
    return count if count <= 16 else rounded(count, 16, 2)


SMALL = 6 << 10
"""Batches of up to this many positions, padding included, are recorded whole: the GPU outpaces its host."""
MIDDLE = 1 << 14
"""The same limit if the GPU is faster: in half precision, or if all output steps are computed at once."""
