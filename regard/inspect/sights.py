"""Attention to an image, a video or a series, as data.

Each of T output pieces has weights over the S positions of the input: the cells of a grid over an image, row by row, or
spans of time. With T = 0, there is only the input to show.
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
FEW = 3
"""Maximum number of features of a series that is drawn as curves."""
STYLES: tuple[Style, ...] = ("smooth", "grid")
"""How attention to an image is drawn: interpolated between the cells, or as the cells."""


@dataclass(frozen=True, eq=False, kw_only=True)
class _Looks:
    """words (T), weights (T, S); truth (T, S), above zero where the word should attend; probabilities (T,).

    outlined   the meaning of the true cells
    """

    words: tuple[str, ...]
    weights: Array
    truth: Array | None = None
    probabilities: Array | None = None
    title: str = ""
    outlined: str = "true region"

    def share(self, word: int) -> Array:
        """(S,) between 0 and 1: the weights of this word, relative to its largest."""
        weights = np.clip(np.nan_to_num(self.weights[word]), 0.0, None)
        return np.asarray(weights / max(float(weights.max(initial=0.0)), 1e-12))

    def true(self, word: int) -> NDArray[np.bool_]:
        """(S,) where the word should attend; all False if unknown."""
        if self.truth is None:
            return np.zeros(self.weights.shape[1], dtype=bool)
        return np.asarray(self.truth[word] > 0)

    def hits(self, word: int) -> bool | None:
        """Whether the most attended position is a true one; None if none is known."""
        true = self.true(word)
        return bool(true[self.best(word)]) if true.any() else None

    def best(self, word: int) -> int:
        """The most attended position; the first in case of a tie."""
        return int(np.nan_to_num(self.weights[word]).argmax())

    @property
    def known(self) -> bool:
        return self.truth is not None and bool((self.truth > 0).any())


@dataclass(frozen=True, eq=False, kw_only=True)
class PictureLooks(_Looks):
    """An image and the attention of each word; S = rows × columns of the grid.

    small   draw it small, as one of many images
    boxes   for each word, left, top, right, bottom of its true regions, as fractions; empty: unknown
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
    """Weights over S consecutive spans of time, which divide the duration evenly."""

    small: bool = False

    @property
    def bounds(self) -> Array:
        """(S + 1,) the boundaries of the spans, from 0 to 1."""
        return np.linspace(0.0, 1.0, self.weights.shape[1] + 1)

    @property
    def limit(self) -> float:
        """The largest weight of all words, which has the full shade; rounded up to two digits for the legend."""
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
    """The frames of a video and the attention of each word over time."""

    frames: Pixels  # (F, H, W, 3)

    def shown(self, most: int) -> list[int]:
        """The frames to show, evenly spaced, if there is room for `most`."""
        return list(range(0, len(self.frames), self.every(most)))

    def every(self, most: int) -> int:
        """The number of frames that each shown frame stands for."""
        return max(1, -(-len(self.frames) // max(1, most)))


@dataclass(frozen=True, eq=False, kw_only=True)
class SeriesLooks(_TimedLooks):
    """Vectors in time (F, D), such as those of audio, low frequencies first, and the attention of each piece over time.

    seconds   the duration; 0 if unknown
    """

    values: Array  # (F, D)
    seconds: float = 0.0

    @property
    def few(self) -> bool:
        """Whether the vectors have so few numbers that curves show them better than shades."""
        return 0 < int(self.values.shape[1]) <= FEW

    @property
    def strengths(self) -> Array:
        """(D, F), last feature at the top: the values from their 2nd to their 99th percentile, scaled to 0 … 1."""
        values = np.nan_to_num(self.values)
        low, high = np.percentile(values, [2, 99]) if values.size else (0.0, 1.0)
        return np.clip((values.T[::-1] - low) / max(high - low, 1e-9), 0.0, 1.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneLooks(_Looks):
    """Points in the plane (S, 2), the pointer weights of each piece, and the figures they form.

    places   the points of the prediction, from 0; `true_places` are those of the truth, if known
    form     the figure: a "sequence", a closed "polygon" or "tour", or "triangles"
    """

    points: Array
    places: tuple[int, ...] = ()
    true_places: tuple[int, ...] | None = None
    form: str = "sequence"
    small: bool = False

    @property
    def right(self) -> bool:
        """Whether the prediction equals the truth, as written."""
        return self.true_places == self.places

    def pointed_at(self, point: int) -> float:
        """Between 0 and 1: the largest pointer weight of a point."""
        return float(np.nan_to_num(self.weights[:, point]).max(initial=0.0))


Sight = PictureLooks | FilmLooks | SeriesLooks | PlaneLooks
