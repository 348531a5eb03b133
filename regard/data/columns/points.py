"""Points: a list of points in the plane or in space, given by their coordinates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
import torch

from regard.data.columns.column import Column
from regard.data.contents import Unreadable
from regard.data.media import Series
from regard.data.ragged import Array, Ragged
from regard.errors import RegardError
from regard.parts import Plan, register
from regard.trace import SeenPoints

LEARNED_FROM = 2000
"""Number of rows from which mean and standard deviation of the coordinates are fitted."""
SHORT = 40
LARGEST = 1e15
"""Maximum size of a coordinate: products of differences stay far from overflow, and also fit into float32."""
ROUNDING = 1e-14
"""Threshold for a degenerate triangle: twice its area, as a share of its longest side squared."""
FLAT = ("polygon", "triangles")
"""Forms of pointers that require points in the plane."""


@register("column", "points")
class PointsColumn(Column):
    """(n, k) float64 of `0.1 0.2; 0.3 0.4`: coordinates separated by spaces, points by semicolons.

    The mean of each coordinate and a common standard deviation are fitted, for encoders; this preserves shapes.

    repeats   whether two points of a row may be equal
    flat      whether they form a polygon or triangles: then they must be in the plane, and not on one line
    """

    class Options(Column.Options):
        """A list of points: `0.1 0.2; 0.3 0.4`, in JSON lines `[[0.1, 0.2], [0.3, 0.4]]`."""

        repeats: bool = False
        """Allow rows that contain a point twice, although a pointer to it is ambiguous."""

    type = "points"
    drawn = True
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    encoder = "points"
    dtype = np.float64

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        return f"{name}: points, (x − mean) / spread"

    @classmethod
    def build(cls, options: Any, name: str, plan: Plan, asked: Mapping[str, Any]) -> Column:
        made = [one for one in plan.outputs.values() if getattr(one, "form", None) in FLAT]
        flat = any((one.of or next(iter(plan.encoder))) == name for one in made)
        return cls(name, field=options.field, repeats=options.repeats, flat=flat)

    def __init__(
        self, name: str, *, field: str | None = None, repeats: bool = False, flat: bool = False
    ) -> None:
        super().__init__(name, field=field)
        self.repeats, self.flat, self.mean, self.spread = repeats, flat, np.zeros(0), 1.0

    @property
    def width(self) -> int:
        """Number of coordinates of a point; 0 before fitting."""
        return len(self.mean)

    @property
    def size(self) -> int:
        """Same as `width`, under the name that all columns share."""
        return self.width

    def learn(self, values: Iterable[str]) -> None:
        found: list[Array] = []
        for value in islice(values, LEARNED_FROM):
            try:
                points = coordinates(value)
            except Unreadable:
                continue  # reported when the rows are encoded
            if not found or points.shape[1] == found[0].shape[1]:
                found.append(points)
        if found:
            together = np.concatenate(found)
            self.mean = together.mean(0)
            self.spread = float(np.sqrt(((together - self.mean) ** 2).mean())) or 1.0

    def written(self, value: Any) -> str:
        """Text as it is; an array (n, k), or lists, as text."""
        if isinstance(value, str):
            return value
        try:
            points = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            points = np.zeros(())
        if points.ndim != 2 or not points.size:
            raise RegardError(
                f"received a {type(value).__name__}, expected an array (points, coordinates).",
                where=self.name,
                fix="Give numbers (n, k), or a text such as 0.1 0.2; 0.3 0.4.",
            )
        return "; ".join(" ".join(map(repr, point)) for point in points.tolist())

    def encode(self, value: str) -> Array:
        """(n, k) float64, as written"""
        points = coordinates(value)
        if self.width and points.shape[1] != self.width:
            raise Unreadable(
                f"has points of {points.shape[1]} coordinates, expected {self.width} as in training",
                where=self.name,
            )
        return points

    def check_encoded(self, encoded: Array) -> str | None:
        if self.flat and encoded.shape[1] != 2:
            return f"has points of {encoded.shape[1]} coordinates, but the output needs points in the plane"
        if self.flat and len(encoded) < 3:
            return "has fewer than 3 points: they make no polygon and no triangle"
        points = list(map(tuple, encoded.tolist()))
        if not self.repeats and len(set(points)) < len(points):
            again = next(number for number, point in enumerate(points) if point in points[:number])
            before = points.index(points[again])
            return (
                f"has the same point twice, as points {before + 1} and {again + 1}: "
                "to point at one of them is ambiguous"
            )
        if self.flat and on_one_line(encoded):
            return f"has {len(encoded)} points that lie on one line: they make no polygon and no triangle"
        return None

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("points cannot be an output.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        count = len(coordinates(value)) if isinstance(value, str) else len(value) // max(self.width, 1)
        return [str(number) for number in range(1, count + 1)]

    def readable(self, collated: Any) -> list[list[str]]:
        """The number of each point, from 1."""
        return [[str(number) for number in range(1, count + 1)] for count in collated.lengths.tolist()]

    def seen(self, collated: Any, row: int) -> SeenPoints | None:
        """The points for a figure, if they are in the plane."""
        points = collated.values[row, : int(collated.lengths[row])].cpu().numpy()
        return SeenPoints(points) if points.shape[1] == 2 else None

    def cost(self, encoded: Array) -> int:
        """Number of points."""
        return int(np.size(encoded)) // max(self.width, 1)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Series:
        """values (B, n, k) float64, zero beyond the length"""
        rows = Ragged.of(encoded)
        values = torch.from_numpy(rows.padded().astype(np.float64, copy=False))
        return Series(values.view(len(rows), -1, self.width), torch.from_numpy(rows.lengths // self.width))

    def options(self) -> dict[str, Any]:
        return {"field": self.field, "repeats": self.repeats, "flat": self.flat}

    def learned(self) -> dict[str, Any]:
        return {"means": self.mean.tolist(), "spread": self.spread}

    def pretend(self, size: int) -> None:
        self.relearn({"means": [0.5] * 2, "spread": 0.5})

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.mean, self.spread = np.array(learned["means"], dtype=np.float64), float(learned["spread"])


def on_one_line(points: Array) -> bool:
    """Whether the points (n, 2) contain no triangle, up to rounding."""
    x, y = (points - points[0]).T
    lengths = x * x + y * y
    far = int(lengths.argmax())
    return bool((np.abs(x[far] * y - y[far] * x) <= ROUNDING * lengths[far]).all())


def coordinates(value: str) -> Array:
    """(n, k) float64, finite; raises `Unreadable` with the reason and the point."""
    written = [point.split() for point in value.strip().rstrip(";").split(";")]
    width = len(written[0])
    for number, point in enumerate(written, 1):
        if not point:
            raise Unreadable(f"has no coordinates in point {number}")
        if len(point) != width:
            raise Unreadable(
                f"has {' '.join(point)[:SHORT]!r} as point {number}, expected {width} coordinates as before"
            )
    try:
        points = np.array(written, dtype=np.float64)
    except ValueError:
        number, wrong = _not_a_number(written)
        raise Unreadable(f"has {wrong[:SHORT]!r} in point {number}, expected a number") from None
    if not np.isfinite(points).all():
        number = int((~np.isfinite(points)).any(1).argmax()) + 1
        raise Unreadable(f"has a coordinate in point {number} that is not finite")
    if (np.abs(points) > LARGEST).any():
        row, place = np.argwhere(np.abs(points) > LARGEST)[0]
        raise Unreadable(
            f"has {written[row][place][:SHORT]!r} in point {row + 1}, expected a number from -1e15 to 1e15"
        )
    return points


def _not_a_number(written: Sequence[Sequence[str]]) -> tuple[int, str]:
    for number, point in enumerate(written, 1):
        for cell in point:
            try:
                float(cell)
            except ValueError:
                return number, cell
    return 1, " ".join(written[0])
