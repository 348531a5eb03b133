"""Paths in the plane: points in the order of visits, numbered at both ends."""

from __future__ import annotations

import numpy as np

from regard.inspect.axes import Axes, label_room, ticks
from regard.inspect.drawings.paths import HeadPaths
from regard.inspect.layout import Block
from regard.inspect.palette import series_color
from regard.inspect.scene import Circle, Group, Mark, Rect, Shape, Step, Text
from regard.inspect.writing import text_width

SIDE = 300.0
LEAST = 0.15
"""Opacity of a point with weight 0."""


def draw_head_paths(heads: HeadPaths) -> Block:
    """A square with the same unit on both axes."""
    points = np.concatenate([*heads.paths.values(), np.zeros((0, 2))])
    points = points[np.isfinite(points).all(axis=1)]
    low, high = (points.min(axis=0), points.max(axis=0)) if len(points) else (np.zeros(2), np.ones(2))
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 0.5)
    x_ticks, y_ticks = (ticks(float(at - half), float(at + half), count=5) for at in middle)
    left, top = label_room(y_ticks), 52.0
    axes = Axes(left, top, SIDE, SIDE, tuple(x_ticks), tuple(y_ticks))
    marks: list[Mark] = [Text(0, 12, heads.title, size=13, bold=True)]
    x = 0.0
    for order, name in enumerate(heads.paths):
        marks.append(Rect(x, 27, 11, 10, fill=series_color(order), radius=2.5))
        marks.append(Text(x + 17, 36, name, size=12))
        x += 17 + text_width(name, 12) + 18
    marks += [*axes.rules(), *axes.numbers()]
    for order, (name, path) in enumerate(heads.paths.items()):
        marks += _path(axes, path, heads.strengths.get(name), name, series_color(order))
    width = max(left + SIDE + 14, x, text_width(heads.title, 15))
    return Block((Group(tuple(marks), kind="paths", content=heads),), width, top + SIDE + 24)


def _path(axes: Axes, path: np.ndarray, strengths: np.ndarray | None, name: str, color: str) -> list[Mark]:
    places = [(axes.x(float(x)), axes.y(float(y))) for x, y in path]
    steps: tuple[Step, ...] = tuple(("L" if number else "M", place) for number, place in enumerate(places))
    marks: list[Mark] = [Shape(steps, stroke=color, width=1.0, opacity=0.5)] if len(steps) > 1 else []
    for number, (x, y) in enumerate(places):
        strength = 1.0 if strengths is None else float(strengths[number])
        tip = f"{name}, step {number + 1}: ({path[number][0]:.2f}, {path[number][1]:.2f})"
        marks.append(
            Circle(x, y, 3.5, fill=color, stroke="paper", opacity=LEAST + (1 - LEAST) * strength, tip=tip)
        )
    if places:
        marks.append(Text(places[0][0] + 6, places[0][1] - 6, "1", size=11, color=color))
        marks.append(Text(places[-1][0] + 6, places[-1][1] + 13, str(len(places)), size=11, color=color))
    return marks
