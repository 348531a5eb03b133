"""A series: a sequence of vectors, such as the joints of a skeleton or the readings of sensors."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from os import PathLike, fspath
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field, model_validator

from regard.data.arrays import array_uri
from regard.data.columns.column import Column
from regard.data.contents import Contents, Unreadable, shown
from regard.data.media import Series
from regard.data.ragged import Array, Ragged
from regard.data.variation import SeriesVariation, read_at
from regard.data.vectors import is_list, vectors_of
from regard.errors import RegardError
from regard.parts import Count, Settings, Share, register
from regard.trace import SeenSeries

LEARNED_FROM = 2000
"""Number of series from which mean and standard deviation of the features are fitted."""
LEAST_SPREAD = 1e-6


class SeriesAugmentOptions(Settings):
    """Augmentation of series in training, random in each epoch."""

    crop: Share = 0.0
    """Largest share to cut off at the beginning, and at the end."""
    speed: Share = 0.0
    """Largest change of speed, as a share."""
    warp: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0
    """Strength of the time warp: progress p becomes p^exp(w), w between −warp and warp."""
    rotate: Annotated[float, Field(ge=0.0, le=180.0)] = 0.0
    """Largest rotation of points about the vertical axis, in degrees; half as much about the other axes."""
    scale: Share = 0.0
    """Largest change of scale of each coordinate of points, as a share."""
    noise: Annotated[float, Field(ge=0.0)] = 0.0
    """Standard deviation of the added noise, as a share of each feature's own standard deviation in the series."""


@register("column", "series")
class SeriesColumn(Column):
    """(T, D) float32 from a list, a file or a data URI (`regard.data.vectors`).

    most        maximum number of vectors; a longer series is resampled evenly
    points      number of coordinates per point (2 or 3), if the vectors consist of points, such as joints
    origin      index of the point, from 0, relative to which the others are measured in every frame
    unit        two points whose distance, in the median over all frames, is the unit of length
    standardize  scale features to mean 0 and standard deviation 1 in the training data; False: leave them as given
    velocities  add the change of each number since the previous vector as a feature
    augment     arguments of the augmentation in training (`SeriesVariation`)
    """

    class Options(Column.Options):
        """A sequence of numbers or vectors, such as the joints of a skeleton or the readings of sensors. The value is a
        list (`[0.5, -1]`), a file, or a data URI of an array."""

        most: Count = 500
        """Maximum number of vectors; a longer sequence is resampled evenly."""
        points: Literal[2, 3] | None = None
        """Number of coordinates per point, if the vectors consist of points, such as joints."""
        origin: Annotated[int, Field(ge=0)] | None = None
        """For points: index of the point, from 0, relative to which the others are measured in every frame."""
        unit: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = None
        """For points: indices of two points whose median distance becomes 1."""
        velocities: bool = False
        """Add the change of each number since the previous vector as a feature."""
        standardize: bool = True
        """Scale each feature to mean 0 and standard deviation 1 in the training data; false: leave it as it is."""
        augment: SeriesAugmentOptions | None = None
        """Random variations in training."""

        @model_validator(mode="after")
        def _of_points(self) -> Any:
            turned = self.augment is not None and (self.augment.rotate or self.augment.scale)
            if self.points is not None and self.origin is None and self.unit is None and not turned:
                raise ValueError(
                    "points has no effect by itself. Add origin or unit, or rotate or scale of augment, or leave "
                    "points out."
                )
            if self.points is None and (self.origin is not None or self.unit is not None or turned):
                raise ValueError(
                    "origin, unit, rotate and scale have no effect on vectors that are not points. Give the number of "
                    "coordinates of a point:  points: 3"
                )
            return self

    type = "series"
    names_files = True
    drawn = True
    roles: ClassVar[tuple[str, ...]] = ("inputs",)
    encoder = "pyramidal"
    has_regions = True

    @classmethod
    def describe(cls, options: Any, name: str) -> str:
        points = "" if options.points is None else f" of points with {options.points} coordinates"
        measured = "" if options.origin is None else f", measured from point {options.origin}"
        velocities = ", with their velocities" if options.velocities else ""
        scaled = ", (x − mean) / spread" if options.standardize else ""
        return f"{name}: up to {options.most} vectors{points}{measured}{velocities}{scaled}"

    cached = False

    def __init__(
        self,
        name: str,
        *,
        field: str | None = None,
        most: int = 500,
        points: int | None = None,
        origin: int | None = None,
        unit: Sequence[int] | None = None,
        velocities: bool = False,
        standardize: bool = True,
        augment: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(name, field=field)
        self.most, self.points, self.origin = most, points, origin
        self.unit = None if unit is None else (int(unit[0]), int(unit[1]))
        self.velocities, self.standardize = velocities, standardize
        self.variation = None if augment is None else SeriesVariation(**augment)
        self._augment = None if augment is None else dict(augment)
        self.mean, self.spread = np.zeros(0), np.zeros(0)
        self._contents = Contents()

    @property
    def width(self) -> int:
        """Number of features of a vector; 0 before fitting."""
        return len(self.mean)

    @property
    def size(self) -> int:
        """Same as `width`, under the name that all columns share."""
        return self.width

    def learn(self, values: Iterable[str]) -> None:
        count, total, squares = 0, np.zeros(0), np.zeros(0)
        for value in islice(values, LEARNED_FROM):
            try:
                found = self._features(self._read(value))
            except Unreadable:
                continue  # reported when the rows are encoded
            if not count:
                total, squares = np.zeros(found.shape[1]), np.zeros(found.shape[1])
            if found.shape[1] == len(total):
                count += len(found)
                total += found.sum(0)
                squares += (found**2).sum(0)
        if count and not self.standardize:
            self.mean, self.spread = np.zeros(len(total)), np.ones(len(total))
        elif count:
            self.mean = total / count
            spread = np.sqrt(np.maximum(squares / count - self.mean**2, 0.0))
            self.spread = np.where(spread > LEAST_SPREAD, spread, 1.0)  # constant features stay as they are

    def written(self, value: Any) -> str:
        """A path as it is; an array (T, D) as a data URI, one (T) as a list."""
        if isinstance(value, str | PathLike):
            return str(fspath(value))
        if (isinstance(value, Sequence) or hasattr(value, "__array__")) and np.ndim(value) == 1:
            return json.dumps(np.asarray(value, dtype=np.float64).tolist())
        if isinstance(value, Sequence) or hasattr(value, "__array__"):
            return array_uri(np.asarray(value, dtype=np.float64))
        raise RegardError(
            f"received a {type(value).__name__}, expected a path or an array (vectors, features).",
            where=self.name,
        )

    def located(self, value: str, file: str) -> str:
        """An absolute path; data URIs, lists and paths not found as they are."""
        if is_list(value):
            return value.strip()
        return self._contents.find(value.strip(), [os.path.dirname(file), ""])

    def encode(self, value: str) -> Array:
        """(T, D) float32"""
        return self._normal(self._features(self._read(value)), value)

    @property
    def varies(self) -> bool:
        return self.variation is not None

    def varied(self, value: str, generator: np.random.Generator) -> Array:
        """(T, D) float32: resampled, rotated, scaled and noisy, as the augmentation says."""
        if self.variation is None:
            return self.encode(value)
        vectors = self._read(value)
        if self.points is not None:
            vectors = self.variation.points(vectors, self.points, generator)
        vectors = self.variation.noisy(vectors, generator)
        times = self.variation.times(len(vectors), self.most, generator)
        return self._normal(self._features(read_at(vectors, times)), value)

    def _read(self, value: str) -> Array:
        """(T, D') float64: the vectors of a value, relative to `origin` and in the unit of length."""
        try:
            vectors = vectors_of(value, self._contents)
            return vectors if self.points is None else self._measured(vectors, value)
        except Unreadable as error:
            raise Unreadable(error.reason, where=self.name) from error

    def _measured(self, vectors: Array, value: str) -> Array:
        dimensions = self.points or 1
        highest = max(0 if self.origin is None else self.origin, *(self.unit or (0, 0)))
        if vectors.shape[1] % dimensions or vectors.shape[1] <= highest * dimensions:
            raise Unreadable(
                f"{shown(value)}, whose vectors have {vectors.shape[1]} numbers, expected points of {dimensions} "
                f"coordinates, at least {highest + 1} of them"
            )
        points = vectors.reshape(len(vectors), -1, dimensions)
        if self.origin is not None:
            points = points - points[:, self.origin : self.origin + 1]
        if self.unit is not None:
            first, second = self.unit
            length = float(np.median(np.linalg.norm(points[:, first] - points[:, second], axis=-1)))
            points = points / length if length > 0 else points
        return points.reshape(len(points), -1)

    def _features(self, vectors: Array) -> Array:
        """(T, D): at most `most` vectors, with velocities if they are requested."""
        if len(vectors) > self.most:
            vectors = read_at(vectors, np.linspace(0.0, len(vectors) - 1, self.most))
        if not self.velocities:
            return vectors
        return np.concatenate([vectors, np.diff(vectors, axis=0, prepend=vectors[:1])], 1)

    def _normal(self, features: Array, value: str) -> Array:
        if self.width and features.shape[1] != self.width:
            raise Unreadable(
                f"{shown(value)}, whose vectors have {features.shape[1]} features, expected {self.width} as in "
                "training",
                where=self.name,
            )
        normal = (features - self.mean) / self.spread if self.width else features
        return normal.astype(np.float32)

    def is_several(self, array: Array) -> bool:
        """(rows, T, D), or (rows, T) if the vectors of a series are single numbers."""
        size = self.width // (2 if self.velocities else 1)
        if array.ndim == 3:  # a single series may be (T, points, coordinates)
            return bool(array.shape[2] == size != array.shape[1] * array.shape[2])
        return bool(array.ndim == 2 and size == 1 < array.shape[1])

    def decode(self, ids: Sequence[int]) -> str:
        raise RegardError("a series cannot be an output.", where=self.name)

    def tokens(self, value: str | Sequence[int]) -> list[str]:
        """One piece: the file name, or the list itself."""
        if isinstance(value, str) and is_list(value):
            return [value.strip()]
        return [os.path.basename(value) if isinstance(value, str) and len(value) < 1000 else "series"]

    def readable(self, collated: Any) -> list[list[str]]:
        return [[f"frame {place}" for place in range(1, count + 1)] for count in collated.lengths.tolist()]

    def seen(self, collated: Any, row: int) -> SeenSeries:
        return SeenSeries(collated.values[row, : int(collated.lengths[row])].cpu().numpy())

    def reduced(
        self, encoded: Array, kept: Array, *, words: bool = False, fill: bool = False
    ) -> Array | None:
        """The series without the vectors of positions that are not kept, or with their mean. Positions divide the
        series evenly."""
        if kept.ndim != 1 or len(kept) > len(encoded):
            return None
        vectors = kept[np.arange(len(encoded)) * len(kept) // len(encoded)]
        return np.where(vectors[:, None], encoded, encoded.mean(0)) if fill else encoded[vectors]

    def cost(self, encoded: Array) -> int:
        """Number of vectors."""
        return len(encoded)

    def collate(self, encoded: Sequence[Array] | Ragged, beside: Mapping[str, Any] | None = None) -> Series:
        """values (B, T, D) float32, zero beyond the length"""
        rows = [encoded[row] for row in range(len(encoded))]
        lengths = torch.tensor([len(row) for row in rows], dtype=torch.int64)
        values = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in rows], batch_first=True)
        return Series(values, lengths)

    def options(self) -> dict[str, Any]:
        return {
            "field": self.field,
            "most": self.most,
            "points": self.points,
            "origin": self.origin,
            "unit": None if self.unit is None else list(self.unit),
            "velocities": self.velocities,
            **({} if self.standardize else {"standardize": False}),
            "augment": self._augment,
        }

    def learned(self) -> dict[str, Any]:
        return {"means": self.mean.tolist(), "spreads": self.spread.tolist()}

    def pretend(self, size: int) -> None:
        self.relearn({"means": [1] * size, "spreads": [1] * size})

    def relearn(self, learned: Mapping[str, Any]) -> None:
        self.mean = np.array(learned["means"], dtype=np.float64)
        self.spread = np.array(learned["spreads"], dtype=np.float64)
