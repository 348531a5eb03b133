"""The color and the outline of a box, by the weights that it holds."""

from __future__ import annotations

from regard.inspect.palette import SERIES, Color, series_color
from regard.inspect.scene import Shape, Step

DASHES: tuple[tuple[float, ...], ...] = ((), (6.0, 3.0), (2.0, 2.0), (8.0, 2.0, 2.0, 2.0))
"""Outlines of boxes after all colors have been used once."""


def color_of(group: int | None) -> tuple[Color, tuple[float, ...]]:
    """The color of a group of weights, and the dashes of its outline after all colors have been used."""
    if group is None:
        return "muted", ()
    return series_color(group), DASHES[(group // SERIES) % len(DASHES)]


def outline(
    width: float, height: float, color: Color, dashes: tuple[float, ...], radius: float = 5.0
) -> Shape:
    r, w, h = min(radius, height / 2), width, height
    steps: tuple[Step, ...] = (
        ("M", (r, 0)), ("L", (w - r, 0)), ("Q", (w, 0, w, r)), ("L", (w, h - r)), ("Q", (w, h, w - r, h)),
        ("L", (r, h)), ("Q", (0, h, 0, h - r)), ("L", (0, r)), ("Q", (0, 0, r, 0)), ("Z", ()),
    )  # fmt: skip
    return Shape(steps, stroke=color, width=1.3, dashes=dashes)
