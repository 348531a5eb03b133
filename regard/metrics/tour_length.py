"""The length of the tours that pointers form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.data.ragged import Array
from regard.metrics.metric import Inference, Score
from regard.metrics.pointed_points import PointsMetric, pointed_points
from regard.parts import register


@register("metric", "tour_length")
class TourLength(PointsMetric):
    """The mean length of the closed tours. Baseline: the points in the order of the data."""

    higher_is_better = False

    def measure(self, inference: Inference) -> Score | None:
        found = self._lengths(inference, [answer.value for answer in inference.predictions])
        true = self._lengths(inference, [row[0] for row in inference.references])
        return Score(
            self.name,
            float(np.mean(found)),
            len(found),
            f"mean length; the tours of the data {np.mean(true):.4g}",
        )

    def baseline(self, inference: Inference) -> Score | None:
        tours = [row[0] for row in inference.references]
        found = [length(points) for points, _ in pointed_points(inference, tours)]
        return Score(self.name, float(np.mean(found)), len(found), "the points in the order of the data")

    def _lengths(self, inference: Inference, tours: Sequence[Any]) -> list[float]:
        return [length(tour) for _, tour in pointed_points(inference, tours)]


def length(tour: Array) -> float:
    """The length of the path through the points (n, k) and back to the first."""
    return float(np.linalg.norm(tour - np.roll(tour, -1, 0), axis=1).sum())
