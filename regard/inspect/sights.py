"""What was seen and where a model looked at it, as data: a picture, the frames of a film, the spectrogram of a sound.

For each of T output pieces there are weights over the S positions of what was seen: the cells of a grid laid over a
picture, row by row, or stretches of time. T may be 0: then there is only something to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from regard.trace import Array

Pixels = NDArray[np.uint8]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom, as fractions of width and height."""
Style = Literal["smooth", "grid"]
STYLES: tuple[Style, ...] = ("smooth", "grid")
"""How attention lies over a picture: interpolated between the cells, or as the cells it truly has."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Looks:
    """words (T), weights (T, S); truth (T, S), above zero where the word should have looked; probabilities (T,).

    outlined   what the cells of the truth are
    """

    words: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None
    title: str = ""
    outlined: str = "true place"

    def share(self, word: int) -> Array:
        """(S,) between 0 and 1: the weights as shares of the largest that this word has anywhere."""
        weights = np.clip(np.nan_to_num(self.weights[word]), 0.0, None)
        return np.asarray(weights / max(float(weights.max(initial=0.0)), 1e-12))

    def true(self, word: int) -> NDArray[np.bool_]:
        """(S,) where the word should have looked; nowhere, if that is not known."""
        if self.truth is None:
            return np.zeros(self.weights.shape[1], dtype=bool)
        return np.asarray(self.truth[word] > 0)

    def hits(self, word: int) -> bool | None:
        """Whether the most attended position is a true one; None where none is known."""
        true = self.true(word)
        return bool(true[self.best(word)]) if true.any() else None

    def best(self, word: int) -> int:
        """The most attended position; the first of several."""
        return int(np.nan_to_num(self.weights[word]).argmax())

    @property
    def known(self) -> bool:
        return self.truth is not None and bool((self.truth > 0).any())


@dataclass(frozen=True, eq=False, kw_only=True)
class PictureLooks(_Looks):
    """A picture and where each word looked at it; S = rows × columns of the grid.

    small   drawn small: one of many pictures
    boxes   for each word left, top, right, bottom of what it should have seen, as fractions; empty: not known
    """

    pixels: Pixels  # (H, W, 3)
    grid: tuple[int, int]
    boxes: tuple[tuple[Box, ...], ...] = ()
    style: Style = "smooth"
    small: bool = False

    @property
    def aspect(self) -> float:
        """Width over height."""
        return float(self.pixels.shape[1] / self.pixels.shape[0])

    def laid(self, positions: NDArray[Any]) -> NDArray[Any]:
        """(S,) → (rows, columns)."""
        return positions.reshape(self.grid)


@dataclass(frozen=True, eq=False, kw_only=True)
class _TimedLooks(_Looks):
    """Weights over S stretches of time, one after another, which share the duration evenly."""

    small: bool = False

    @property
    def bounds(self) -> Array:
        """(S + 1,) where the stretches begin and end, from 0 to 1."""
        return np.linspace(0.0, 1.0, self.weights.shape[1] + 1)

    @property
    def limit(self) -> float:
        """The largest weight of all words, which gets the full shade; rounded up to two digits for the legend."""
        largest = float(np.nan_to_num(self.weights).max(initial=0.0))
        return min(1.0, float(np.ceil(100 * largest - 1e-9) / 100)) or 1.0

    def shade(self, word: int, position: int) -> float:
        """Between 0 and 1: the weight as a share of the limit."""
        value = float(self.weights[word, position])
        return 0.0 if np.isnan(value) else min(1.0, max(0.0, value / self.limit))

    def true_spans(self, word: int) -> Iterator[tuple[float, float]]:
        """Begin and end of each run of true positions, as fractions of the duration."""
        inside = np.concatenate([[0], self.true(word).astype(int), [0]])
        turns = np.flatnonzero(np.diff(inside))
        for first, last in zip(turns[::2], turns[1::2], strict=True):
            yield float(self.bounds[first]), float(self.bounds[last])


@dataclass(frozen=True, eq=False, kw_only=True)
class FilmLooks(_TimedLooks):
    """The frames of a film and where in time each word looked."""

    frames: Pixels  # (F, H, W, 3)

    def shown(self, most: int) -> list[int]:
        """Which frames stand for all, at equal distances, when there is room for `most`."""
        return list(range(0, len(self.frames), self.every(most)))

    def every(self, most: int) -> int:
        """How many frames each of those shown stands for."""
        return max(1, -(-len(self.frames) // max(1, most)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesLooks(_TimedLooks):
    """Vectors in time (F, D), such as those of a sound, low frequencies first, and where in time each piece looked.

    seconds   how long it lasts; 0 where that is not known
    """

    values: Array  # (F, D)
    seconds: float = 0.0

    @property
    def strengths(self) -> Array:
        """(D, F), the last feature above: the values between their 2nd and 99th percentile, as 0 to 1."""
        values = np.nan_to_num(self.values)
        low, high = np.percentile(values, [2, 99]) if values.size else (0.0, 1.0)
        return np.clip((values.T[::-1] - low) / max(high - low, 1e-9), 0.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneLooks(_Looks):
    """Points in the plane (S, 2), how much each piece pointed at them, and what it made of them.

    places   the points of the answer, from 0, and `true_places`, those of the truth, where it is known
    form     what they make: a "sequence", a closed "polygon" or "tour", or "triangles"
    """

    points: Array
    places: tuple[int, ...] = ()
    true_places: tuple[int, ...] | None = None
    form: str = "sequence"
    small: bool = False

    @property
    def right(self) -> bool:
        """Whether the answer is the truth, as it is written."""
        return self.true_places == self.places

    def pointed_at(self, point: int) -> float:
        """Between 0 and 1: the most that any piece pointed at it."""
        return float(np.nan_to_num(self.weights[:, point]).max(initial=0.0))


Sight = PictureLooks | FilmLooks | SeriesLooks | PlaneLooks
