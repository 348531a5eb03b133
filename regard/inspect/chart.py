"""A metric by category for several systems, as grouped bars or lines: BLEU by input length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from regard.errors import RegardError
from regard.inspect.axes import Axes, label_room, ticks
from regard.inspect.drawings.chart import Chart
from regard.inspect.drawings.matrix import FEW
from regard.inspect.layout import Block, frame
from regard.inspect.palette import series_color
from regard.inspect.scene import Circle, Group, Mark, Rect, Scene, Text, polyline
from regard.inspect.writing import text_width
from regard.trace import Array

WIDTH, HEIGHT = 560.0, 240.0
FADED = 0.4
"""Opacity of a bar of few items."""
WEAK = f"hollow or faded: n < {FEW}"


def bars(
    places: Sequence[str],
    series: Mapping[str, Sequence[float] | Array],
    *,
    counts: Sequence[int] = (),
    intervals: Mapping[str, Sequence[tuple[float, float]] | Array] | None = None,
    title: str = "",
    x_name: str = "",
    y_name: str = "",
    style: Literal["bars", "lines"] = "bars",
    digits: str = "{:.1f}",
) -> Scene:
    """One value per series and category: BLEU of several systems by input length.

    counts      number of inputs in each category, printed below it
    intervals   the bounds of each value of a series, drawn as error bars
    style       grouped bars, or lines with a dot per category
    A missing value (NaN) leaves a gap.
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in series.items()}
    for name, values in [*arrays.items(), *([("counts", np.asarray(counts))] if len(counts) else [])]:
        if len(values) != len(places):
            raise RegardError(
                f"{name} has {len(values)} values, expected one for each of the {len(places)} positions."
            )
    bounds = {
        name: np.asarray(pairs, dtype=np.float64).reshape(len(places), 2)
        for name, pairs in (intervals or {}).items()
    }
    chart = Chart(
        style,
        tuple(map(str, places)),
        arrays,
        tuple(int(n) for n in counts),
        "",
        x_name,
        y_name,
        digits,
        bounds,
    )
    spoken = "; ".join(
        f"{name}: "
        + ", ".join(f"{place} {digits.format(v)}" for place, v in zip(places, values, strict=True))
        for name, values in arrays.items()
    )
    return frame(
        _draw_categories(chart),
        title=title,
        description=f"{y_name or 'Values'} by {x_name or 'position'}. {spoken}",
    )


def _draw_categories(chart: Chart) -> Block:
    drawn = [*chart.series.values(), *(pairs.ravel() for pairs in chart.intervals.values())]
    values = [float(v) for one in drawn for v in one if math.isfinite(v)]
    y_ticks = ticks(min([0.0, *values]), max([0.0, *values]) or 1.0)
    legend, top = draw_legend(chart)
    top += 16
    left = label_room(y_ticks)
    width = max(WIDTH, 46.0 * len(chart.places))
    axes = Axes(left, top, width, HEIGHT, (0.0, float(max(1, len(chart.places)))), tuple(y_ticks))
    marks = [*legend, *axes.rules()]
    bottom, x_name = top + HEIGHT, chart.x_name
    for i, place in enumerate(chart.places):
        middle = axes.x(i + 0.5)
        marks.append(Text(middle, bottom + 18, str(place), size=12, anchor="middle"))
        if chart.counts:
            marks.append(
                Text(middle, bottom + 33, f"n={chart.counts[i]:,}", size=10, anchor="middle", color="muted")
            )
    if chart.has_weak:
        x_name = f"{x_name}; {WEAK}" if x_name else WEAK
    for order, name in enumerate(chart.series):
        whiskers = _whiskers(chart, name, order, axes)
        if chart.style == "bars":
            marks += [*_bar_marks(chart, name, order, axes), *whiskers]
        else:
            marks += [*whiskers, *_dot_marks(chart, name, order, axes)]
    bottom += 40 if chart.counts else 25
    if x_name:
        marks.append(Text(left + width / 2, bottom + 12, x_name, size=12, anchor="middle", color="muted"))
        bottom += 18
    return Block((Group(tuple(marks), kind="chart", content=chart),), left + width, bottom)


def draw_legend(chart: Chart) -> tuple[list[Mark], float]:
    """The name of the vertical axis, then a swatch and a name for each series."""
    x = 0.0
    marks: list[Mark] = []
    if chart.y_name:
        marks.append(Text(0, 11, chart.y_name, size=12, bold=True))
        x = text_width(chart.y_name, 12.8) + 20
    for order, name in enumerate(chart.series):
        marks.append(Rect(x, 2, 11, 10, fill=series_color(order), radius=2.5))
        marks.append(Text(x + 17, 11, name, size=12))
        x += 17 + text_width(name, 12) + 18
    return marks, 14.0


def _bar_marks(chart: Chart, name: str, order: int, axes: Axes) -> list[Mark]:
    room = axes.width / max(1, len(chart.places))
    width = min(34.0, 0.76 * room / len(chart.series))
    marks: list[Mark] = []
    for i, value in enumerate(chart.series[name]):
        if math.isfinite(value):
            x = _middle(chart, order, i, axes) - width / 2
            upper, lower = sorted((axes.y(float(value)), axes.y(0.0)))
            tip, tags = _tip(chart, name, i)
            marks.append(
                Rect(
                    x + 0.75,
                    upper,
                    width - 1.5,
                    lower - upper,
                    fill=series_color(order),
                    radius=2,
                    opacity=FADED if chart.is_weak(i) else 1.0,
                    tip=tip,
                    tags=tags,
                )
            )
    return marks


def _middle(chart: Chart, order: int, i: int, axes: Axes) -> float:
    """The x coordinate of a value of a series. Lines with intervals are shifted, so that the intervals do not
    overlap."""
    room = axes.width / max(1, len(chart.places))
    if chart.style == "bars":
        width = min(34.0, 0.76 * room / len(chart.series))
        return axes.x(i + 0.5) + (order - len(chart.series) / 2 + 0.5) * width
    aside = min(9.0, 0.5 * room / len(chart.series)) if chart.intervals else 0.0
    return axes.x(i + 0.5) + (order - (len(chart.series) - 1) / 2) * aside


def _whiskers(chart: Chart, name: str, order: int, axes: Axes) -> list[Mark]:
    """The interval of each value, as an error bar."""
    marks: list[Mark] = []
    color = series_color(order) if chart.style == "lines" else "ink"
    for i, (low, high) in enumerate(chart.intervals.get(name, ())):
        if math.isfinite(low) and math.isfinite(high):
            x, top, bottom = _middle(chart, order, i, axes), axes.y(float(high)), axes.y(float(low))
            for line in (
                [(x, top), (x, bottom)],
                [(x - 3, top), (x + 3, top)],
                [(x - 3, bottom), (x + 3, bottom)],
            ):
                marks.append(polyline(line, color=color, width=1.25))
    return marks


def _dot_marks(chart: Chart, name: str, order: int, axes: Axes) -> list[Mark]:
    marks: list[Mark] = []
    run: list[tuple[float, float]] = []
    firm: list[bool] = []
    dots: list[Mark] = []
    for i, value in enumerate([*chart.series[name], math.nan]):
        if math.isfinite(value):
            run.append((_middle(chart, order, i, axes), axes.y(float(value))))
            firm.append(not chart.is_weak(i))
            tip, tags = _tip(chart, name, i)
            color = series_color(order)
            dots.append(
                Circle(*run[-1], 4, fill=color, stroke="paper", stroke_width=1.5, tip=tip, tags=tags)
                if firm[-1]
                else Circle(*run[-1], 3.25, fill="paper", stroke=color, stroke_width=1.25, tip=tip, tags=tags)
            )
        else:
            for place, ends in enumerate(pairwise(run)):
                sure = firm[place] and firm[place + 1]
                width, dashes = (2.25, ()) if sure else (1.25, (3.0, 4.0))
                marks.append(polyline(ends, color=series_color(order), width=width, dashes=dashes))
            run, firm = [], []
    return marks + dots


def _tip(chart: Chart, name: str, i: int) -> tuple[str, tuple[tuple[str, str], ...]]:
    value = float(chart.series[name][i])
    count = f"\nn = {chart.counts[i]}" if chart.counts else ""
    tags = (("series", name), ("place", str(chart.places[i])), ("value", f"{value:.6g}"))
    sure = ""
    if name in chart.intervals and all(map(math.isfinite, chart.intervals[name][i])):
        low, high = (chart.digits.format(float(bound)) for bound in chart.intervals[name][i])
        sure = f" (95 %: {low} to {high})"
    return f"{name}, {chart.places[i]}: {chart.digits.format(value)}{sure}{count}", tags
