"""Augmentation of series: random variations of vectors in time during training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.data.ragged import Array


@dataclass(frozen=True)
class SeriesVariation:
    """Random variations, drawn anew for each series.

    crop     largest share cut off at the beginning, and at the end
    speed    largest change of speed, as a share
    warp     largest exponent of the time warp: progress p becomes p^exp(w), w between −warp and warp
    rotate   largest rotation of points about the vertical axis, in degrees; half as much about the other axes
    scale    largest change of each coordinate of points, as a share
    noise    standard deviation of the added noise, as a share of each feature's own standard deviation in the series
    """

    crop: float = 0.0
    speed: float = 0.0
    warp: float = 0.0
    rotate: float = 0.0
    scale: float = 0.0
    noise: float = 0.0

    def times(self, count: int, most: int, generator: np.random.Generator) -> Array:
        """(T',) times between 0 and count − 1 at which to read a series of `count` vectors; at most `most` of them."""
        before, after = generator.uniform(0.0, self.crop, 2)
        first, last = before * (count - 1), (1.0 - after) * (count - 1)
        wanted = (
            min(count, most) * (last - first + 1) / count * generator.uniform(1 - self.speed, 1 + self.speed)
        )
        progress = np.linspace(0.0, 1.0, int(np.clip(round(wanted), 1, most)))
        bent = progress ** np.exp(generator.uniform(-self.warp, self.warp))
        return np.asarray(first + bent * (last - first))

    def points(self, values: Array, dimensions: int, generator: np.random.Generator) -> Array:
        """Points (T, P · dimensions), rotated and scaled."""
        points = values.reshape(len(values), -1, dimensions)
        if self.rotate:
            points = points @ rotation(dimensions, np.deg2rad(self.rotate), generator)
        if self.scale:
            points = points * generator.uniform(1 - self.scale, 1 + self.scale, dimensions)
        return points.reshape(len(values), -1)

    def noisy(self, values: Array, generator: np.random.Generator) -> Array:
        """(T, D) with noise."""
        if not self.noise:
            return values
        spread = values.std(0, keepdims=True)
        return np.asarray(values + self.noise * spread * generator.standard_normal(values.shape))


def rotation(dimensions: int, largest: float, generator: np.random.Generator) -> Array:
    """A rotation in the plane; in space, about y by up to `largest` (radians), then about x and z by half as much."""
    if dimensions == 2:
        return _turn(2, 0, 1, generator.uniform(-largest, largest))
    about_y, about_x, about_z = generator.uniform(-1.0, 1.0, 3) * largest * np.array([1.0, 0.5, 0.5])
    return np.asarray(_turn(3, 0, 2, about_y) @ _turn(3, 1, 2, about_x) @ _turn(3, 0, 1, about_z))


def _turn(dimensions: int, first: int, second: int, angle: float) -> Array:
    matrix = np.eye(dimensions)
    matrix[first, first] = matrix[second, second] = np.cos(angle)
    matrix[first, second], matrix[second, first] = np.sin(angle), -np.sin(angle)
    return matrix


def read_at(values: Array, times: Array) -> Array:
    """The vectors (T, D) at times between 0 and T − 1, linearly interpolated: (T', D)."""
    before = np.minimum(np.floor(times).astype(np.int64), len(values) - 1)
    after = np.minimum(before + 1, len(values) - 1)
    share = (times - before)[:, None]
    return np.asarray(values[before] * (1.0 - share) + values[after] * share)
