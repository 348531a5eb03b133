"""The share of the true polygon's area that a predicted polygon covers."""

from __future__ import annotations

import numpy as np

from regard.data.ragged import Array
from regard.metrics.metric import Inference, Score
from regard.metrics.pointed_points import PointsMetric, pointed_points
from regard.parts import register


@register("metric", "area_covered")
class AreaCovered(PointsMetric):
    """The mean share of the area of the convex hull that the polygon covers. A polygon that intersects itself counts as
    0.

    Its corners are points of the row, so it never exceeds the hull.
    """

    def measure(self, inference: Inference) -> Score | None:
        found = pointed_points(inference, [answer.value for answer in inference.predictions])
        true = pointed_points(inference, [row[0] for row in inference.references])
        shares = [
            min(1.0, area(polygon) / whole) if (whole := area(hull)) and is_simple(polygon) else 0.0
            for (_, polygon), (_, hull) in zip(found, true, strict=True)
        ]
        return Score(self.name, float(np.mean(shares)), len(shares), "mean share of the true polygon's area")


def area(polygon: Array) -> float:
    """Area of a polygon with corners (n, 2), in order."""
    if len(polygon) < 3:
        return 0.0
    after = np.roll(polygon, -1, 0)
    return abs(float((polygon[:, 0] * after[:, 1] - polygon[:, 1] * after[:, 0]).sum())) / 2


def is_simple(polygon: Array) -> bool:
    """Whether no two edges cross."""
    ends = np.roll(polygon, -1, 0)
    for first in range(len(polygon)):
        for second in range(first + 1, len(polygon)):
            if _cross(polygon[first], ends[first], polygon[second], ends[second]):
                return False
    return True


def _cross(a: Array, b: Array, c: Array, d: Array) -> bool:
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Array, b: Array, c: Array) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
