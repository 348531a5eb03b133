"""Draw scenes as images, and encode images as text for a row."""

from __future__ import annotations

import base64
import io
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from regard.worlds.scenes.things import COLORS, Scene

PAPER = np.array((244, 242, 236), dtype=np.float32)
FINER = 8
"""Number of sample points per side of a pixel, for smooth edges."""


@cache
def paper(pixels: int) -> NDArray[np.float32]:
    """(pixels, pixels, 3), empty."""
    return np.broadcast_to(PAPER, (pixels, pixels, 3))


@cache
def stencil(shape: str, side: int) -> NDArray[np.float32]:
    """(side, side, 1) the share of each pixel that the shape covers."""
    points = (np.arange(side * FINER) + 0.5) / (side * FINER) * 2 - 1
    x, y = points[None, :], points[:, None]
    radius = np.hypot(x, y)
    inside: dict[str, NDArray[np.bool_]] = {
        "circle": radius <= 1,
        "square": (abs(x) <= 0.94) & (abs(y) <= 0.94),
        "triangle": abs(x) <= (y + 1) / 2,
        "ring": (radius <= 1) & (radius >= 0.52),
        "cross": (abs(x) <= 0.34) | (abs(y) <= 0.34),
        "star": _star(x, y),
    }
    covered: NDArray[np.float32] = (
        inside[shape].reshape(side, FINER, side, FINER, 1).mean((1, 3), dtype=np.float32)
    )
    return covered


def _star(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """A star with five points, one of them up; its inner corners are at 0.42 of the radius."""
    fifth, inner = np.pi / 5, 0.42
    turn = abs((np.arctan2(x, -y) + fifth) % (2 * fifth) - fifth)  # angle from the nearest point
    # The edge from the point (1 at angle 0) to the corner (inner at angle fifth), as a radius by angle.
    edge = (
        inner
        * np.sin(fifth)
        / (np.sin(turn) * (1 - inner * np.cos(fifth)) + inner * np.sin(fifth) * np.cos(turn))
    )
    star: NDArray[np.bool_] = np.hypot(x, y) <= edge
    return star


def drawn(scene: Scene, pixels: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """(pixels, pixels, 3); each thing in a random shade of its color."""
    canvas = paper(pixels).copy()
    shades = generator.integers(-10, 11, size=(len(scene), 3))
    paints = np.array([COLORS[thing.color] for thing in scene]) + shades
    paints = np.minimum(np.maximum(paints, 0), 255).astype(np.float32)
    for thing, paint in zip(scene, paints, strict=True):
        patch = canvas[thing.top : thing.top + thing.side, thing.left : thing.left + thing.side]
        patch += stencil(thing.shape, thing.side) * (paint - PAPER)  # things do not overlap
    return (canvas + 0.5).astype(np.uint8)


def data_uri(pixels: NDArray[np.uint8]) -> str:
    """data:image/png;base64,…"""
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "PNG", compress_level=1)
    return "data:image/png;base64," + base64.b64encode(written.getvalue()).decode()
