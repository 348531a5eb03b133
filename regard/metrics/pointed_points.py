"""Base class of metrics of pointers to points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from regard.data.columns.points import coordinates
from regard.data.ragged import Array
from regard.metrics.metric import Inference, Metric, OutputInfo


class PointsMetric(Metric):
    """A metric of pointers into a list of points."""

    suits = ("pointers",)

    def refuses(self, output: OutputInfo) -> str | None:
        reason = super().refuses(output)
        if reason is None and not output.columns[output.column.of[0]].can_be("points"):
            reason = f"{self.name} needs an input of type points; {output.name!r} points at {output.column.of[0]!r}"
        return reason


def pointed_points(inference: Inference, pointers: Sequence[Sequence[int]]) -> Iterator[tuple[Array, Array]]:
    """For each row, all points (n, k), and those that its pointers name, in order."""
    (name,) = inference.output.column.of
    for row, positions in enumerate(pointers):
        points = coordinates(inference.raw(row)[name])
        yield points, points[[position - 1 for position in positions]]
