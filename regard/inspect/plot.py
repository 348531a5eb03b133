"""A plot: curves and points over two numeric axes, linear or logarithmic, in a block that fits on a phone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.inspect.axes import FONT, Axes, tick_text, ticks
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block
from regard.inspect.palette import series_color
from regard.inspect.scene import Circle, Group, Mark, Rect, Shape, Step, Text
from regard.inspect.writing import text_width, wrap
from regard.trace import Array

__all__ = ["Curve", "draw_plot"]

WIDTH, HEIGHT = 350.0, 150.0
"""Width of a block including tick labels, and height of the area within the axes."""
DECADES = 6
"""Maximum number of labeled powers of ten on a logarithmic axis."""
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True, eq=False)
class Curve:
    """One line of a plot: x (N,) and y (N,), NaN for missing values.

    role   role of its color; default: by its position among the curves
    """

    x: Array
    y: Array
    style: Literal["line", "dashes", "dots"] = "line"
    role: str = ""


def draw_plot(
    curves: Mapping[str, Curve],
    *,
    title: str = "",
    x_name: str = "",
    y_name: str = "",
    log_x: bool = False,
    log_y: bool = False,
    y_range: tuple[float, float] | None = None,
    x_range: tuple[float, float] | None = None,
    width: float = WIDTH,
    height: float = HEIGHT,
    digits: str = "{:.3g}",
    dot: float = 3.0,
    equal: bool = False,
) -> Block:
    """The curves by name over shared axes, with a legend above.

    y_range, x_range   ranges of the axes; default: all values
    dot                radius of the points of a curve of dots
    equal              use the same unit length on both axes, whose ranges must then be the same
    """
    xs = _range(x_range, [curve.x for curve in curves.values()], log_x)
    ys = _range(y_range, [curve.y for curve in curves.values()], log_y)
    x_ticks = _ticks(*xs, log=log_x, count=5, inside=x_range is not None or not log_x)
    y_ticks = _ticks(*ys, log=log_y, count=4, inside=y_range is not None)
    left = max(text_width(written_tick(tick, log_y), FONT) for tick in y_ticks) + 12
    names = [
        name for name in curves if not name.startswith("_")
    ]  # `_` marks curves without an entry in the legend
    legend, top = draw_legend(curves, names, title, y_name, width)
    ends_x, ends_y = _ends(xs, x_ticks), _ends(ys, y_ticks)
    last = text_width(written_tick(x_ticks[-1], log_x), FONT) / 2
    across = width - left - last - 2
    axes = Axes(left, top + 10, across, across if equal else height, ends_x, ends_y)
    marks: list[Mark] = [*legend]
    for tick in y_ticks:
        y = axes.y(tick)
        marks.append(Shape((("M", (left, y)), ("L", (left + axes.width, y))), stroke="faint", width=1))
        marks.append(Text(left - 8, y + 4, written_tick(tick, log_y), size=FONT, anchor="end", color="muted"))
    bottom = axes.top + axes.height
    marks += [
        Text(axes.x(tick), bottom + 17, written_tick(tick, log_x), size=FONT, anchor="middle", color="muted")
        for tick in x_ticks
    ]
    for order, (name, curve) in enumerate(curves.items()):
        marks += draw_curve(name.lstrip("_"), curve, role_of(curve, order), axes, (log_x, log_y), dot)
    bottom += 24
    if x_name:
        marks.append(Text(left + axes.width / 2, bottom + 9, x_name, size=12, anchor="middle", color="muted"))
        bottom += 15
    return Block(
        (Group(tuple(marks), kind="chart", content=_content(curves, title, x_name, y_name, digits, log_y)),),
        width,
        bottom,
    )


def role_of(curve: Curve, order: int) -> str:
    """The role of a curve's color, by its order among the curves if it has none of its own."""
    return curve.role or series_color(order)


def _finite(values: Array, log: bool) -> Array:
    values = np.asarray(values, dtype=np.float64)
    return values[np.isfinite(values) & ((values > 0) | (not log))]


def _range(asked: tuple[float, float] | None, values: Sequence[Array], log: bool) -> tuple[float, float]:
    """The smallest and the largest value; on a logarithmic axis, their exponents of ten."""
    if asked is not None:
        return (math.log10(asked[0]), math.log10(asked[1])) if log else asked
    found = np.concatenate([_finite(one, log) for one in values] or [np.zeros(0)])
    if not len(found):
        return 0.0, 1.0
    low, high = float(found.min()), float(found.max())
    return (math.log10(low), math.log10(high)) if log else (low, high)


def _ticks(low: float, high: float, *, log: bool, count: int, inside: bool) -> list[float]:
    if not log:
        found = ticks(low, high, count=count)
    else:
        first, last = math.floor(low + 1e-9), math.ceil(high - 1e-9)
        last = max(last, first + 1)
        step = max(1, math.ceil((last - first) / DECADES))
        found = [float(power) for power in range(step * math.floor(first / step), last + step, step)]
        while len(found) > 2 and found[-2] >= last:
            found.pop()
    if inside:
        found = [tick for tick in found if low - 1e-9 <= tick <= high + 1e-9] or sorted({low, high})
    return found


def _ends(values: tuple[float, float], found: Sequence[float]) -> tuple[float, ...]:
    """The first and the last value of an axis: those of the ticks, unless values lie beyond them. A single value is
    in the middle."""
    low, high = min(values[0], found[0]), max(values[1], found[-1])
    room = 0.5 * (abs(low) or 1.0) if low == high else 0.0
    return (low - room, high + room)


def power_of_ten(exponent: float) -> str:
    """10⁻⁸, 0.1, 1, 100."""
    return written_tick(round(exponent), True)


def written_tick(tick: float, log: bool) -> str:
    """A number beside an axis; on a logarithmic axis, `tick` is its exponent of ten."""
    if not log:
        return tick_text(tick).replace("-", "−")
    if 0 <= tick <= 3:
        return f"{10 ** int(tick)}"
    return "0.1" if tick == -1 else "10" + f"{tick:.0f}".translate(_RAISED)


def draw_legend(
    curves: Mapping[str, Curve], names: Sequence[str], title: str, y_name: str, width: float
) -> tuple[list[Mark], float]:
    """The title, the name of the vertical axis, and a swatch with a name for each curve, on as many lines as needed."""
    marks: list[Mark] = []
    y = 0.0
    if title:
        for written in wrap(title, width, 13 * 1.08):
            marks.append(Text(0, y + 12, written, size=13, bold=True))
            y += 18
    x = 0.0
    if y_name:
        marks.append(Text(0, y + 11, y_name, size=12, color="muted"))
        x = text_width(y_name, 12) + 16
    roles = {name: role_of(curve, order) for order, (name, curve) in enumerate(curves.items())}
    entries = names if len(names) > 1 else []
    for name in entries:
        room = 17 + text_width(name, 12)
        if x and x + room > width:
            x, y = 0.0, y + 17
        style = curves[name].style
        if style == "dots":
            marks.append(Circle(x + 5.5, y + 7, 3.5, fill=roles[name]))
        elif style == "dashes":
            steps: tuple[Step, ...] = (("M", (x, y + 7)), ("L", (x + 11, y + 7)))
            marks.append(Shape(steps, stroke=roles[name], width=2, dashes=(3, 3)))
        else:
            marks.append(Rect(x, y + 2, 11, 10, fill=roles[name], radius=2.5))
        marks.append(Text(x + 17, y + 11, name, size=12))
        x += room + 14
    return marks, y + (16.0 if y_name or entries else 0.0)


def draw_curve(
    name: str, curve: Curve, role: str, axes: Axes, logs: tuple[bool, bool], dot: float
) -> list[Mark]:
    """The line of a curve, or its dots of radius `dot`; logs: whether x and y are logarithmic."""
    runs = [[(axes.x(a), axes.y(b)) for a, b in run] for run in _visible(_points(curve, logs), axes)]
    if curve.style == "dots":
        return [
            Circle(*point, dot, fill=role, stroke="paper", stroke_width=0.75) for run in runs for point in run
        ]
    dashes = (4.0, 4.0) if curve.style == "dashes" else ()
    marks: list[Mark] = []
    for run in runs:
        if len(run) > 1:
            steps: tuple[Step, ...] = tuple(("L" if i else "M", point) for i, point in enumerate(run))
            marks.append(Shape(steps, stroke=role, width=2, dashes=dashes, tip=name))
        else:
            marks += [Circle(*point, 2.5, fill=role) for point in run]
    return marks


def _points(curve: Curve, logs: tuple[bool, bool]) -> list[tuple[float, float] | None]:
    """The points in axis units; None for missing ones."""
    found: list[tuple[float, float] | None] = []
    for values in zip(map(float, curve.x), map(float, curve.y), strict=True):
        a, b = (
            math.log10(v) if log and v > 0 else math.nan if log else v
            for v, log in zip(values, logs, strict=True)
        )
        found.append((a, b) if math.isfinite(a) and math.isfinite(b) else None)
    return found


def _visible(points: Sequence[tuple[float, float] | None], axes: Axes) -> list[list[tuple[float, float]]]:
    """Runs of points within the axes; a line that leaves them is clipped at the upper or lower edge."""
    low, high = axes.y_ticks[0] - 1e-9, axes.y_ticks[-1] + 1e-9
    left, right = axes.x_ticks[0] - 1e-9, axes.x_ticks[-1] + 1e-9
    runs: list[list[tuple[float, float]]] = [[]]
    before: tuple[float, float] | None = None
    for point in points:
        if point is None or not left <= point[0] <= right:
            runs.append([])
            before = None
            continue
        inside = low <= point[1] <= high
        was_inside = before is not None and low <= before[1] <= high
        if before is not None and inside != was_inside:
            outside = before if inside else point
            edge = low if outside[1] < low else high
            share = (edge - before[1]) / (point[1] - before[1])
            crossing = (before[0] + share * (point[0] - before[0]), edge)
            if inside:
                runs.append([crossing])
            else:
                runs[-1].append(crossing)
                runs.append([])
        if inside:
            runs[-1].append(point)
        before = point
    return [run for run in runs if run]


def _content(
    curves: Mapping[str, Curve], title: str, x_name: str, y_name: str, digits: str, log: bool
) -> Chart:
    longest = max((curve.x for curve in curves.values()), key=len)
    lines = {name: curve for name, curve in curves.items() if curve.style != "dots"} or curves
    series = {name.lstrip("_"): np.asarray(curve.y, dtype=np.float64) for name, curve in lines.items()}
    places = tuple(float(value) for value in longest)
    over = f"{y_name} over {x_name}" if y_name and x_name else y_name
    return Chart("lines", places, series, (), title, x_name, over, digits, log=log)
