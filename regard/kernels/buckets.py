"""Buckets: sizes rounded up, so that batches of nearly one size share what was recorded or compiled for it."""

from __future__ import annotations


def rounded(size: int, parts: int, least: int) -> int:
    """The next size that there are buckets for: at most one of `parts` parts more, and a multiple of `least`."""
    step = max(least, (1 << size.bit_length() >> 1) // parts)
    return -(-size // step) * step
