"""Training curves: loss and metrics by step, in stacked panels with a common axis."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

import numpy as np

from regard.errors import RegardError
from regard.inspect.axes import Axes, label_room, ticks
from regard.inspect.chart import draw_legend
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block, below, flowing, frame
from regard.inspect.palette import series_color
from regard.inspect.scene import Circle, Group, Mark, Rect, Scene, Text, polyline
from regard.inspect.writing import text_width
from regard.trace import Array

WIDTH, HEIGHT = 560.0, 150.0
DOTS = 25
"""Maximum number of points of a curve that are drawn as dots."""


def curve(log: str | PathLike[str] | Mapping[str, Sequence[float]], *, title: str = "") -> Scene:
    """The loss (train and dev together), then one panel per dev metric, by step.

    log   the run's log.csv, its folder, or the columns by name; metrics are the columns "dev.…"
    """
    columns = dict(log) if isinstance(log, Mapping) else read_log(Path(log))
    if "step" not in columns or "loss" not in columns:
        known = ", ".join(columns) or "none"
        raise RegardError(f"a training log needs the columns step and loss; found: {known}.")
    steps = np.asarray(columns["step"], dtype=np.float64)
    found = {name: np.asarray(v, dtype=np.float64) for name, v in columns.items() if name.startswith("dev.")}
    losses = {"train": np.asarray(columns["loss"], dtype=np.float64)}
    if "dev.loss" in found:
        losses["dev"] = found.pop("dev.loss")
    panels = {
        "loss": losses,
        **{name.removeprefix("dev."): {"dev": values} for name, values in found.items()},
    }
    left = max(label_room(_value_ticks(series)) for series in panels.values())
    last = list(panels)[-1]
    blocks = [
        draw_curves(steps, series, y_name=name, x_name="step" if name == last else "", left=left)
        for name, series in panels.items()
    ]
    return frame(
        below(blocks, gap=18), title=title, description=f"Training curves over {len(steps)} rows of the log."
    )


def curves_of(logs: Mapping[str, Mapping[str, Sequence[float]]], *, title: str = "") -> Scene:
    """Several runs over each other: a panel for the training loss, and one for each dev metric.

    logs   {run: the columns of its log by name}
    """
    steps = np.unique(np.concatenate([np.asarray(log["step"], dtype=np.float64) for log in logs.values()]))
    names = dict.fromkeys(name for log in logs.values() for name in log if name.startswith("dev."))
    missing = [math.nan] * len(steps)
    panels = {
        "train loss" if name == "loss" else name.replace("dev.", "dev "): {
            run: _at(steps, log["step"], log[name]) if name in log else np.asarray(missing)
            for run, log in logs.items()
        }
        for name in ("loss", *names)
    }
    left = max(label_room(_value_ticks(series)) for series in panels.values())
    last = list(panels)[-1]
    blocks = [
        draw_curves(
            steps, series, y_name=name, x_name="step" if name == last else "", left=left, legend=False
        )
        for name, series in panels.items()
    ]
    legend = flowing([_entry(order, run) for order, run in enumerate(logs)], widest=WIDTH, gap=18, drop=6)
    told = f"Training curves of {', '.join(logs)}."
    return frame(below([legend, *blocks], gap=18), title=title, description=told)


def _entry(order: int, name: str) -> Block:
    """A swatch and a name."""
    marks = (Rect(0, 2, 11, 10, fill=series_color(order), radius=2.5), Text(17, 11, name, size=12))
    return Block(marks, 17 + text_width(name, 12), 14)


def _at(steps: Array, own: Sequence[float], values: Sequence[float]) -> Array:
    """Values at the steps of all runs; NaN at those of other runs."""
    found = np.full(len(steps), math.nan)
    for step, value in zip(own, values, strict=True):
        if math.isfinite(value):  # a step with an evaluation has two rows
            found[int(np.searchsorted(steps, step))] = value
    return found


def draw_curves(
    x: Array,
    series: Mapping[str, Array],
    *,
    x_name: str = "",
    y_name: str = "",
    left: float | None = None,
    legend: bool = True,
) -> Block:
    """Curves over one horizontal axis. NaN is skipped, so that a metric that is measured rarely is still one line.

    left     width of the tick labels of the vertical axis, to align several blocks
    legend   whether the series are named above the panel
    """
    chart = Chart("lines", tuple(float(v) for v in x), dict(series), (), "", x_name, y_name, "{:.4g}")
    y_ticks = _value_ticks(series)
    x_ticks = ticks(float(np.min(x, initial=0.0)), float(np.max(x, initial=1.0)), count=6)
    named, top = draw_legend(chart if legend else replace(chart, series={}))
    left = label_room(y_ticks) if left is None else left
    axes = Axes(left, top + 14, WIDTH, HEIGHT, tuple(x_ticks), tuple(y_ticks))
    marks: list[Mark] = [*named, *axes.rules(), *axes.numbers()]
    for order, values in enumerate(series.values()):
        points = [
            (axes.x(float(a)), axes.y(float(b))) for a, b in zip(x, values, strict=True) if math.isfinite(b)
        ]
        color = series_color(order)
        if len(points) > 1:
            marks.append(polyline(points, color=color, width=2))
        if len(points) <= DOTS:
            marks += [Circle(*point, 3, fill=color, stroke="paper", stroke_width=1) for point in points]
    bottom = axes.top + axes.height + 24
    if x_name:
        marks.append(Text(left + WIDTH / 2, bottom + 10, x_name, size=12, anchor="middle", color="muted"))
        bottom += 16
    return Block((Group(tuple(marks), kind="chart", content=chart),), left + WIDTH + 14, bottom)


def _value_ticks(series: Mapping[str, Array]) -> list[float]:
    finite = [float(value) for values in series.values() for value in values if math.isfinite(value)]
    return ticks(min(finite, default=0.0), max(finite, default=1.0), count=4)


def read_log(path: Path) -> dict[str, list[float]]:
    """The columns of a run's log.csv by name; a number that was not measured is NaN."""
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
