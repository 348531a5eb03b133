"""Buckets: sizes rounded up, so that batches of nearly one size share what was recorded or compiled for it."""

from __future__ import annotations


def rounded(size: int, parts: int, least: int) -> int:
    """The next size that there are buckets for: at most one of `parts` parts more, and a multiple of `least`."""
    step = max(least, (1 << size.bit_length() >> 1) // parts)
    return -(-size // step) * step


def rounded_rows(count: int) -> int:
    """Of a batch, or of a search."""
    return rounded(count, 8, 4)


def rounded_steps(count: int) -> int:
    """Of a recurrence; short ones as they are, where one step more is much."""
    return count if count <= 16 else rounded(count, 16, 2)


SMALL = 6 << 10
"""A batch of up to so many positions, padding counted, is recorded whole: beyond, a GPU is slower than its host."""
MIDDLE = 1 << 14
"""The same where a GPU is quicker: in half precision, and where all steps of an output are taken at once."""
