"""The points world: uniform points in the unit square, and a hull, triangulation or tour of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import model_validator

from regard.data.provider import RowCount, Splits
from regard.data.ragged import Array
from regard.errors import RegardError
from regard.parts import register
from regard.worlds.points.hulls import hulls
from regard.worlds.points.triangulations import triangulations
from regard.worlds.world import SplitWorld

FINENESS = 1_000_000
"""Coordinates are multiples of 1 / FINENESS, so that the written numbers are exactly those of the solution."""
LEAST, MOST = {"hull": 3, "delaunay": 3, "tsp": 2}, 200
AT_ONCE = 50_000
"""Number of rows to generate at a time."""


@register("world", "points")
class PointsWorld(SplitWorld):
    """Points in the unit square, and a sequence of their positions, from 1 (Vinyals, Fortunato and Jaitly 2015).

        hull       0.8 0.1; 0.2 0.3; 0.5 0.4; 0.6 0.9 → 1 4 2
        delaunay   the same → 1 2 3; 2 3 4; 1 3 4
        tsp        the same → 1 4 3 2

    A hull runs counterclockwise from its lowest position. Positions within a triangle ascend, and triangles are sorted
    by their incenter, from left to right. A tour starts at the first point and runs counterclockwise. Up to 12 points,
    it is the shortest (Held-Karp); for more, the best one found by nearest neighbors from every start, 2-opt and
    or-opt.
    """

    train: RowCount = 20_000
    """Number of rows."""
    task: Literal["hull", "delaunay", "tsp"] = "hull"
    """Meaning of the positions: corners of the convex hull, triangles of the Delaunay triangulation, or a short
    tour."""
    count: int | list[int] = 10
    """Number of points of a row; `[5, 50]`: uniform from 5 to 50."""

    fields: ClassVar[tuple[str, ...]] = ("points", "pointers")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        counts = self.count if isinstance(self.count, list) else [self.count, self.count]
        least = LEAST[self.task]
        if len(counts) != 2 or not least <= counts[0] <= counts[1] <= MOST:
            raise RegardError(
                f"count is {self.count}, expected a number from {least} to {MOST}, or the lowest and the highest "
                "such as [5, 50]."
            )
        return self

    def splits(self) -> Splits:
        return self.splits_apart(self._rows)

    def _rows(self, generator: np.random.Generator, size: int) -> Iterator[dict[str, str]]:
        low, high = self.count if isinstance(self.count, list) else (self.count, self.count)
        while size:
            some = min(size, AT_ONCE)
            counts = generator.integers(low, high + 1, some)
            made: list[dict[str, str]] = [{}] * some
            for count in np.unique(counts).tolist():
                places = np.flatnonzero(counts == count)
                points = _drawn(generator, len(places), count, line=self.task == "tsp")
                for place, row in zip(places.tolist(), self._written(points), strict=True):
                    made[place] = row
            yield from made
            size -= some

    def _written(self, points: Array) -> Iterator[dict[str, str]]:
        """A row for each set of points (B, n, 2)."""
        coordinates = "; ".join(["%.6f %.6f"] * points.shape[1])
        for one, pointers in zip(
            (points / FINENESS).reshape(len(points), -1), self._found(points), strict=True
        ):
            yield {"points": coordinates % tuple(one.tolist()), "pointers": pointers}

    def _found(self, points: Array) -> Iterator[str]:
        if self.task == "hull":
            yield from (" ".join(map(str, (corners + 1).tolist())) for corners in hulls(points))
        elif self.task == "tsp":
            yield from (" ".join(map(str, (tour + 1).tolist())) for tour in _tours(points))
        else:
            for triangles in triangulations(points):
                yield "; ".join(" ".join(map(str, one)) for one in (triangles + 1).tolist())


def _drawn(generator: np.random.Generator, rows: int, count: int, *, line: bool) -> Array:
    """(rows, count, 2) int64, without equal points in a row.

    line   whether all points of a row may be collinear
    """
    points = generator.integers(0, FINENESS, (rows, count, 2))
    while True:
        numbers = np.sort(points[..., 0] * FINENESS + points[..., 1], 1)
        bad = (np.diff(numbers, axis=1) == 0).any(1)
        if not line:
            side, others = points[:, 1:2] - points[:, :1], points[:, 2:] - points[:, :1]
            turns = side[..., 0] * others[..., 1] - side[..., 1] * others[..., 0]
            bad |= (turns == 0).all(1)
        if not bad.any():
            return points
        points[bad] = generator.integers(0, FINENESS, (int(bad.sum()), count, 2))


def _tours(points: Array) -> Array:
    """(B, n) short tours from the first point, counterclockwise."""
    from regard.worlds.points.tours import tours  # imported here: it compiles

    rows = np.arange(len(points))[:, None]
    found = tours(points.astype(np.float64) / FINENESS)
    order = np.arange(found.shape[1])
    found = found[rows, (order + found.argmin(1)[:, None]) % found.shape[1]]
    on = points[rows, found]
    after = np.roll(on, -1, 1)
    clockwise = (on[..., 0] * after[..., 1] - on[..., 1] * after[..., 0]).sum(1) < 0
    backwards = found[:, (-order) % found.shape[1]]
    tours_found: Array = np.where(clockwise[:, None], backwards, found)
    return tours_found
