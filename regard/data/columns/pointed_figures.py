"""Checks of figures made of points: a convex polygon, or a triangulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from regard.data.columns.points import ROUNDING

Point = Sequence[float]
COVERED = 1e-9
"""Tolerance for gaps and overlaps of triangles, as a share of the area."""


def polygon_fault(numbers: Sequence[int], points: Sequence[Point]) -> str | None:
    """Why positions (from 1) do not form a convex polygon in counterclockwise order; None if they do.

    Every corner must turn left, and the corners together must turn once.
    """
    count, turned = len(numbers), 0.0
    for place, here in enumerate(numbers):
        before, after = numbers[place - 1], numbers[(place + 1) % count]
        along, across = _turn(points[before - 1], points[here - 1], points[after - 1])
        if abs(across) <= ROUNDING * (abs(along) + abs(across)):
            return f"has position {here} on one line with {before} and {after}: it is no corner of a convex polygon"
        if across < 0:
            return f"turns right at position {here}: a convex polygon goes counter-clockwise and turns left everywhere"
        turned += math.atan2(across, along)
    if turned > 3 * math.pi:
        return "goes around more than once, but a convex polygon goes around once"
    return None


def triangles_fault(numbers: Sequence[int], points: Sequence[Point]) -> str | None:
    """Why positions (from 1, three per triangle) do not form a triangulation of all points; None if they do.

    No triangle may be degenerate. Every edge must have a triangle on both sides, or all points on one side. Together
    the triangles must have the area of the convex hull.
    """
    total, sides = 0.0, dict[tuple[int, int], list[float]]()
    for low in range(0, len(numbers), 3):
        one, two, three = numbers[low : low + 3]
        along, across = _turn(points[one - 1], points[two - 1], points[three - 1])
        if abs(across) <= ROUNDING * (abs(along) + abs(across)):
            return f"has the triangle {one} {two} {three}, whose points lie on one line"
        total += abs(across)
        for side, way in (((one, two), across), ((two, three), across), ((one, three), -across)):
            sides.setdefault(side, []).append(way)
    wanted = _hull_area(points)
    if abs(total - wanted) > COVERED * wanted:
        what = "overlap" if total > wanted else "leave something out"
        return f"has triangles that {what}: they cover {total / wanted:.4g} of the area of the convex hull"
    missing = set(range(1, len(points) + 1)) - set(numbers)
    if missing:
        return f"has no triangle with point {min(missing)}, but a triangulation uses every point"
    for (start, end), ways in sides.items():
        if not _is_side(points[start - 1], points[end - 1], ways, points):
            return f"has triangles that overlap or leave something out at the side from {start} to {end}"
    return None


def _is_side(start: Point, end: Point, ways: Sequence[float], points: Sequence[Point]) -> bool:
    """Whether an edge has a triangle on both sides, or a single triangle and all points on one side."""
    if len(ways) == 2:
        return (ways[0] > 0) != (ways[1] > 0)
    length = (end[0] - start[0]) ** 2 + (end[1] - start[1]) ** 2
    left = [_turn(start, end, point)[1] > ROUNDING * length for point in points]
    right = [_turn(start, end, point)[1] < -ROUNDING * length for point in points]
    return len(ways) == 1 and not (any(left) and any(right))


def _turn(before: Point, here: Point, after: Point) -> tuple[float, float]:
    """Dot and cross product of the steps before → here and here → after: progress, and turn to the left."""
    x, y = here[0] - before[0], here[1] - before[1]
    u, v = after[0] - here[0], after[1] - here[1]
    return x * u + y * v, x * v - y * u


def _hull_area(points: Sequence[Point]) -> float:
    """Twice the area of the convex hull, by Andrew's monotone chain."""
    ordered = sorted(map(tuple, points))
    area = 0.0
    for way in (ordered, ordered[::-1]):
        chain: list[Point] = []
        for point in way:
            while len(chain) > 1 and _turn(chain[-2], chain[-1], point)[1] <= 0:
                chain.pop()
            chain.append(point)
        area += sum(a[0] * b[1] - a[1] * b[0] for a, b in pairwise(chain))
    return area
