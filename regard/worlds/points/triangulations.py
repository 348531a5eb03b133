"""Delaunay triangulations: the triangles whose circumcircle contains no other point.

For few points, all triangles of many sets are tested at once. For more than `FEW`, scipy computes each set.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import numpy as np

from regard.data.ragged import Array
from regard.errors import MissingExtra

FEW = 12
AT_ONCE = 4_000_000
"""Number of pairs of a triangle and a point to test at a time."""


def triangulations(points: Array) -> list[Array]:
    """(K, 3) the triangles of each set. The indices within a triangle ascend, from 0. Triangles are sorted by their
    incenter, from left to right and then upward (Vinyals, Fortunato and Jaitly 2015).

    points   (B, n, 2), n ≥ 3
    """
    count = points.shape[1]
    if count > FEW:
        return [_ordered(_by_scipy(one), one) for one in points]
    triples = _triples(count)
    step = max(1, AT_ONCE // (len(triples) * count))
    found: list[Array] = []
    for low in range(0, len(points), step):
        some = points[low : low + step].astype(np.float64)
        for one, empty in zip(some, _empty(some, triples), strict=True):
            found.append(_ordered(triples[empty], one))
    return found


def _empty(points: Array, triples: Array) -> Array:
    """(B, K) whether the circumcircle of a triangle contains none of the points; False for collinear points."""
    corners = points[:, triples]  # (B, K, 3, 2)
    side, other = corners[:, :, 1] - corners[:, :, 0], corners[:, :, 2] - corners[:, :, 0]
    turn = side[..., 0] * other[..., 1] - side[..., 1] * other[..., 0]
    offsets = corners[:, :, :, None] - points[:, None, None]  # (B, K, 3, n, 2)
    (ax, bx, cx), (ay, by, cy) = np.moveaxis(offsets[..., 0], 2, 0), np.moveaxis(offsets[..., 1], 2, 0)
    inside = (
        (ax**2 + ay**2) * (bx * cy - by * cx)
        - (bx**2 + by**2) * (ax * cy - ay * cx)
        + (cx**2 + cy**2) * (ax * by - ay * bx)
    ) * np.sign(turn)[..., None]
    own = (triples[:, :, None] == np.arange(points.shape[1])).any(1)  # (K, n)
    found: Array = (turn != 0) & ~((inside > 0) & ~own).any(-1)
    return found


@cache
def _triples(count: int) -> Array:
    return np.array(list(combinations(range(count), 3)))


def _by_scipy(points: Array) -> Array:
    try:
        from scipy.spatial import Delaunay
    except ImportError:
        raise MissingExtra("scipy", "zoo", f"a triangulation of more than {FEW} points") from None
    return np.sort(Delaunay(points).simplices.astype(np.int64), 1)


def _ordered(triangles: Array, points: Array) -> Array:
    corners = points[triangles].astype(np.float64)  # (K, 3, 2)
    opposite = np.linalg.norm(corners[:, [1, 2, 0]] - corners[:, [2, 0, 1]], axis=-1)
    centers = (opposite[..., None] * corners).sum(1) / opposite.sum(1, keepdims=True)
    found: Array = triangles[np.lexsort((centers[:, 1], centers[:, 0]))]
    return found
