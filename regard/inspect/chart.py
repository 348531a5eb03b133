"""Charts: a metric by the length of the input for several systems, and the curves of a training run."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path as FilePath
from typing import Literal

import numpy as np

from regard.errors import RegardError
from regard.inspect.axes import Axes, label_room, ticks
from regard.inspect.content import Chart
from regard.inspect.layout import Block, below, frame
from regard.inspect.palette import series_colour
from regard.inspect.scene import Circle, Group, Mark, Rect, Scene, Text, polyline
from regard.inspect.writing import text_width
from regard.prediction import Array

WIDTH, HEIGHT = 560.0, 240.0


def bars(
    places: Sequence[str],
    series: Mapping[str, Sequence[float] | Array],
    *,
    counts: Sequence[int] = (),
    title: str = "",
    x_name: str = "",
    y_name: str = "",
    style: Literal["bars", "lines"] = "bars",
    digits: str = "{:.1f}",
) -> Scene:
    """One value of each series for each place: BLEU of several systems by length of the input.

    counts   how many inputs each place stands for, printed under it
    style    grouped bars, or a line with a dot per place
    A value that is not there (NaN) leaves a gap.
    """
    arrays = {name: np.asarray(values, dtype=np.float64) for name, values in series.items()}
    for name, values in [*arrays.items(), *([("counts", np.asarray(counts))] if len(counts) else [])]:
        if len(values) != len(places):
            raise RegardError(
                f"{name} has {len(values)} values, expected one for each of the {len(places)} places."
            )
    chart = Chart(
        style, tuple(map(str, places)), arrays, tuple(int(n) for n in counts), "", x_name, y_name, digits
    )
    spoken = "; ".join(
        f"{name}: "
        + ", ".join(f"{place} {digits.format(v)}" for place, v in zip(places, values, strict=True))
        for name, values in arrays.items()
    )
    return frame(
        _draw_categories(chart),
        title=title,
        description=f"{y_name or 'Values'} by {x_name or 'place'}. {spoken}",
    )


def _draw_categories(chart: Chart) -> Block:
    values = [float(v) for one in chart.series.values() for v in one if math.isfinite(v)]
    y_ticks = ticks(min([0.0, *values]), max([0.0, *values]) or 1.0)
    legend, top = _legend(chart)
    top += 16
    left = label_room(y_ticks)
    width = max(WIDTH, 46.0 * len(chart.places))
    axes = Axes(left, top, width, HEIGHT, (0.0, float(max(1, len(chart.places)))), tuple(y_ticks))
    marks = [*legend, *axes.rules()]
    bottom = top + HEIGHT
    for i, place in enumerate(chart.places):
        middle = axes.x(i + 0.5)
        marks.append(Text(middle, bottom + 18, str(place), size=12, anchor="middle"))
        if chart.counts:
            marks.append(
                Text(middle, bottom + 33, f"n={chart.counts[i]:,}", size=10, anchor="middle", colour="muted")
            )
    for order, name in enumerate(chart.series):
        marks += (_bar_marks if chart.style == "bars" else _dot_marks)(chart, name, order, axes)
    bottom += 40 if chart.counts else 25
    if chart.x_name:
        marks.append(
            Text(left + width / 2, bottom + 12, chart.x_name, size=12, anchor="middle", colour="muted")
        )
        bottom += 18
    return Block((Group(tuple(marks), kind="chart", content=chart),), left + width, bottom)


def _legend(chart: Chart) -> tuple[list[Mark], float]:
    """The name of the vertical axis, then a swatch and a name for each series."""
    x = 0.0
    marks: list[Mark] = []
    if chart.y_name:
        marks.append(Text(0, 11, chart.y_name, size=12, bold=True))
        x = text_width(chart.y_name, 12.8) + 20
    for order, name in enumerate(chart.series):
        marks.append(Rect(x, 2, 11, 10, fill=series_colour(order), radius=2.5))
        marks.append(Text(x + 17, 11, name, size=12))
        x += 17 + text_width(name, 12) + 18
    return marks, 14.0


def _bar_marks(chart: Chart, name: str, order: int, axes: Axes) -> list[Mark]:
    room = axes.width / max(1, len(chart.places))
    width = min(34.0, 0.76 * room / len(chart.series))
    marks: list[Mark] = []
    for i, value in enumerate(chart.series[name]):
        if math.isfinite(value):
            x = axes.x(i + 0.5) + (order - len(chart.series) / 2) * width
            upper, lower = sorted((axes.y(float(value)), axes.y(0.0)))
            tip, tags = _tip(chart, name, i)
            marks.append(
                Rect(
                    x + 0.75,
                    upper,
                    width - 1.5,
                    lower - upper,
                    fill=series_colour(order),
                    radius=2,
                    tip=tip,
                    tags=tags,
                )
            )
    return marks


def _dot_marks(chart: Chart, name: str, order: int, axes: Axes) -> list[Mark]:
    marks: list[Mark] = []
    run: list[tuple[float, float]] = []
    dots: list[Mark] = []
    for i, value in enumerate([*chart.series[name], math.nan]):
        if math.isfinite(value):
            run.append((axes.x(i + 0.5), axes.y(float(value))))
            tip, tags = _tip(chart, name, i)
            dots.append(
                Circle(
                    *run[-1],
                    4,
                    fill=series_colour(order),
                    stroke="paper",
                    stroke_width=1.5,
                    tip=tip,
                    tags=tags,
                )
            )
        else:
            if len(run) > 1:
                marks.append(polyline(run, colour=series_colour(order), width=2.25))
            run = []
    return marks + dots


def _tip(chart: Chart, name: str, i: int) -> tuple[str, tuple[tuple[str, str], ...]]:
    value = float(chart.series[name][i])
    count = f"\nn = {chart.counts[i]}" if chart.counts else ""
    tags = (("series", name), ("place", str(chart.places[i])), ("value", f"{value:.6g}"))
    return f"{name}, {chart.places[i]}: {chart.digits.format(value)}{count}", tags


def lines(
    x: Array, series: Mapping[str, Array], *, x_name: str = "", y_name: str = "", digits: str = "{:.4g}"
) -> Block:
    """Curves over one horizontal axis, as a block; NaN is skipped, so a metric measured now and then is one line."""
    chart = Chart("lines", tuple(float(v) for v in x), dict(series), (), "", x_name, y_name, digits)
    values = np.concatenate([np.asarray(v, dtype=np.float64) for v in series.values()] or [np.zeros(0)])
    finite = values[np.isfinite(values)]
    y_ticks = ticks(
        float(finite.min(initial=0.0) if finite.size == 0 else finite.min()),
        float(finite.max(initial=-math.inf)),
        count=4,
    )
    x_ticks = ticks(float(np.min(x, initial=0.0)), float(np.max(x, initial=1.0)), count=6)
    legend, top = _legend(chart)
    left = label_room(y_ticks)
    axes = Axes(left, top + 14, WIDTH, 150.0, tuple(x_ticks), tuple(y_ticks))
    marks = [*legend, *axes.rules(), *axes.numbers()]
    for order, values_of_one in enumerate(series.values()):
        points = [
            (axes.x(float(a)), axes.y(float(b)))
            for a, b in zip(x, values_of_one, strict=True)
            if math.isfinite(b)
        ]
        colour = series_colour(order)
        if len(points) > 1:
            marks.append(polyline(points, colour=colour, width=2))
        if 0 < len(points) <= 25:
            marks += [Circle(*point, 3, fill=colour, stroke="paper", stroke_width=1) for point in points]
    bottom = axes.top + axes.height + 24
    if x_name:
        marks.append(Text(left + WIDTH / 2, bottom + 10, x_name, size=12, anchor="middle", colour="muted"))
        bottom += 16
    return Block((Group(tuple(marks), kind="chart", content=chart),), left + WIDTH + 14, bottom)


def curve(log: str | PathLike[str] | Mapping[str, Sequence[float]], *, title: str = "") -> Scene:
    """The curves of a training run by step: the loss (train and dev together), then one panel for each dev metric.

    log   the run's log.csv, its folder, or the columns themselves by name
    """
    columns = dict(log) if isinstance(log, Mapping) else _read(FilePath(log))
    if "step" not in columns or "loss" not in columns:
        known = ", ".join(columns) or "none"
        raise RegardError(f"a training log needs the columns step and loss; found: {known}.")
    x = np.asarray(columns["step"], dtype=np.float64)
    found = {name: np.asarray(v, dtype=np.float64) for name, v in columns.items() if name.startswith("dev.")}
    losses = {"train": np.asarray(columns["loss"], dtype=np.float64)}
    if "dev.loss" in found:
        losses["dev"] = found.pop("dev.loss")
    panels = [
        ("loss", losses),
        *((name.removeprefix("dev."), {"dev": values}) for name, values in found.items()),
    ]
    blocks = [
        lines(x, series, y_name=name, x_name="step" if i == len(panels) - 1 else "")
        for i, (name, series) in enumerate(panels)
    ]
    return frame(
        below(blocks, gap=18), title=title, description=f"Training curves over {len(x)} rows of the log."
    )


def _read(path: FilePath) -> dict[str, list[float]]:
    path = path / "log.csv" if path.is_dir() else path
    if not path.exists():
        raise RegardError(
            "there is no training log here.", where=str(path), fix="Give a run's folder or its log.csv."
        )
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0]) if rows else []
    try:
        return {name: [float(row[name]) if row[name] else math.nan for row in rows] for name in names}
    except (TypeError, ValueError) as error:
        raise RegardError(f"the log has a cell that is not a number: {error}", where=str(path)) from None
