"""A reliability figure: the share of right answers by their confidence, which a calibrated model makes equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.inspect.axes import Axes, label_room, ticks
from regard.inspect.chart import draw_legend
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block, frame
from regard.inspect.palette import series_color
from regard.inspect.scene import Circle, Group, Mark, Scene, Shape, Text, polyline

if TYPE_CHECKING:
    from regard.evaluation.calibration import ReliabilityBin

SIDE = 270.0
SMALLEST, LARGEST = 2.5, 7.0
"""Radii of a dot of few answers, and of that of the most."""


def reliability_figure(series: Mapping[str, Sequence[ReliabilityBin]], *, title: str = "") -> Scene:
    """series: name ("before", "after") → the bins of its answers. The area of a dot is the number of its answers."""
    bins = {name: [one for one in found if one.count] for name, found in series.items()}
    places = sorted({(one.low, one.high) for found in bins.values() for one in found})
    values = {
        name: np.array([_accuracy(found, low) for low, _ in places], dtype=np.float64)
        for name, found in bins.items()
    }
    named = tuple(f"{low:.2f} to {high:.2f}" for low, high in places)
    chart = Chart("lines", named, values, (), "", "confidence", "share right", "{:.3f}")
    lowest = min((min(one.confidence, one.accuracy) for found in bins.values() for one in found), default=0.0)
    marked = tuple(ticks(min(lowest, 0.9), 1.0, count=5))
    legend, top = draw_legend(chart)
    axes = Axes(label_room(list(marked)), top + 14, SIDE, SIDE, marked, marked)
    corners = [(axes.x(end), axes.y(end)) for end in (marked[0], marked[-1])]
    diagonal = Shape((("M", corners[0]), ("L", corners[1])), stroke="muted", width=1.2, dashes=(5.0, 4.0))
    marks: list[Mark] = [*legend, *axes.rules(), *axes.numbers(), diagonal]
    most = max((one.count for found in bins.values() for one in found), default=1)
    for order, (name, found) in enumerate(bins.items()):
        marks += _curve(name, found, axes, series_color(order), most)
    bottom = axes.top + SIDE + 34
    told = "confidence of the answer; dashed: calibrated"
    marks.append(Text(axes.left + SIDE / 2, bottom, told, size=12, anchor="middle", color="muted"))
    spoken = "; ".join(
        f"{name}: " + ", ".join(f"{one.confidence:.2f} → {one.accuracy:.2f}" for one in found)
        for name, found in bins.items()
    )
    block = Block((Group(tuple(marks), kind="chart", content=chart),), axes.left + SIDE + 14, bottom + 6)
    return frame(block, title=title, description=f"The share of right answers by confidence. {spoken}")


def _accuracy(found: Sequence[ReliabilityBin], low: float) -> float:
    return next((one.accuracy for one in found if one.low == low), math.nan)


def _curve(name: str, found: Sequence[ReliabilityBin], axes: Axes, color: str, most: int) -> list[Mark]:
    points = [(axes.x(one.confidence), axes.y(one.accuracy)) for one in found]
    marks: list[Mark] = [polyline(points, color=color, width=1.6)] if len(points) > 1 else []
    for point, one in zip(points, found, strict=True):
        radius = SMALLEST + (LARGEST - SMALLEST) * math.sqrt(one.count / most)
        tip = f"{name}: {one.count:,} answers, confidence {one.confidence:.3f}, {one.accuracy:.3f} of them right"
        marks.append(Circle(*point, radius, fill=color, stroke="paper", stroke_width=1, tip=tip))
    return marks
