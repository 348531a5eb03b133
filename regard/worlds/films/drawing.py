"""Draw shapes of any position, size and rotation by signed distance, with smooth edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from regard.data.ragged import Array

Distance = Callable[[Array, Array], Array]
"""Coordinates relative to a shape of radius 1 → signed distance; negative inside."""


def _ring(u: Array, v: Array) -> Array:
    return np.asarray(np.abs(np.sqrt(u * u + v * v) - 0.75) - 0.28)


def _square(u: Array, v: Array) -> Array:
    return np.asarray(np.maximum(np.abs(u), np.abs(v)) - 0.88)


def _triangle(u: Array, v: Array) -> Array:
    slope = np.sqrt(3.0) / 2.0
    return np.asarray(np.maximum(v, slope * np.abs(u) - 0.5 * v) - 0.6)


def _cross(u: Array, v: Array) -> Array:
    a, b = np.abs(u), np.abs(v)
    return np.minimum(np.maximum(a - 1.05, b - 0.38), np.maximum(a - 0.38, b - 1.05))


SHAPES: dict[str, Distance] = {"ring": _ring, "square": _square, "triangle": _triangle, "cross": _cross}
"""Shapes that differ clearly at a few pixels; a filled circle and a square would not."""
ROUND = ("ring",)
COLORS: dict[str, tuple[int, int, int]] = {
    "red": (225, 45, 40),
    "green": (40, 180, 70),
    "blue": (50, 90, 235),
    "yellow": (240, 215, 50),
    "purple": (165, 60, 200),
    "white": (240, 240, 240),
}
BACKGROUND = 20


def coverage(shape: str, poses: Array, size: int) -> Array:
    """The share of each pixel that a shape covers: poses (T, 5) → (T, size, size) from 0 to 1."""
    fresh = np.ones(len(poses), dtype=bool)
    fresh[1:] = (poses[1:] != poses[:-1]).any(1)  # an unchanged pose is drawn only once
    x, y, radius, angle, seen = (column[:, None, None] for column in poses[fresh].T.astype(np.float32))
    centers = np.arange(size, dtype=np.float32) + 0.5
    across, down = (centers[None, None, :] - x) / radius, (centers[None, :, None] - y) / radius
    cosine, sine = np.cos(angle), np.sin(angle)
    u, v = across * cosine + down * sine, down * cosine - across * sine  # (F, size, size)
    outside = SHAPES[shape](u, v) * radius
    covered = (0.5 - outside).clip(0.0, 1.0) * seen
    return np.asarray(covered[np.cumsum(fresh) - 1])


def paint(frames: Array, covered: Array, color: str) -> None:
    """Blend a color into `frames` (T, size, size, 3) float32, in place, by the coverage (T, size, size)."""
    frames += covered[..., None] * (np.array(COLORS[color], dtype=np.float32) - frames)


def blank(frames: int, size: int) -> Array:
    """(frames, size, size, 3) float32, empty."""
    return np.full((frames, size, size, 3), BACKGROUND, dtype=np.float32)
