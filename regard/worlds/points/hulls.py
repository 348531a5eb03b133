"""Convex hulls of many sets of points at once, by gift wrapping; exact for integer coordinates."""

from __future__ import annotations

import numpy as np

from regard.data.ragged import Array


def hulls(points: Array) -> list[Array]:
    """The corners of each hull in counterclockwise order, starting at the lowest index; indices from 0.

    points   (B, n, 2) integers, n ≥ 3, no two points of a set equal and not all collinear. A point on an edge is not a
             corner.
    """
    rows = np.arange(len(points))
    horizontal, vertical = points[..., 0], points[..., 1]
    leftmost = horizontal == horizontal.min(1, keepdims=True)
    highest = vertical.max() + 1 if points.size else 0
    first = np.where(leftmost, vertical, highest).argmin(1)  # among ties, the lowest
    found = [[int(corner)] for corner in first]
    current = first
    while len(rows):
        current = _following(points[rows], current)
        going = current != first[rows]
        rows, current = rows[going], current[going]
        for row, corner in zip(rows.tolist(), current.tolist(), strict=True):
            found[row].append(corner)
    return [np.roll(corners, -int(np.argmin(corners))) for corners in found]


def _following(points: Array, current: Array) -> Array:
    """The next corner: no point lies to the right of the line to it, and none behind it."""
    rows = np.arange(len(points))
    here = points[rows, current]
    best = np.where(current == 0, 1, 0)
    for number in range(points.shape[1]):
        other, there = points[:, number] - here, points[rows, best] - here
        turn = there[:, 0] * other[:, 1] - there[:, 1] * other[:, 0]
        farther = (other**2).sum(1) > (there**2).sum(1)
        better = (number != current) & ((turn < 0) | ((turn == 0) & farther))
        best = np.where(better, number, best)
    return best
