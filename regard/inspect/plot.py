"""A plot: curves and points over two numeric axes, linear or logarithmic, in a block that fits on a phone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from regard.inspect.axes import FONT, Axes, tick_text, ticks
from regard.inspect.content import Chart, Lines, Matrix
from regard.inspect.layout import Block
from regard.inspect.palette import series_color
from regard.inspect.raster import png, shaded_pixels
from regard.inspect.scene import Circle, Group, Image, Mark, Path, Rect, Step, Text
from regard.inspect.writing import text_width, wrap
from regard.trace import Array

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
    left = max(text_width(_written(tick, log_y), FONT) for tick in y_ticks) + 12
    names = [
        name for name in curves if not name.startswith("_")
    ]  # `_` marks curves without an entry in the legend
    legend, top = _legend(curves, names, title, y_name, width)
    ends_x, ends_y = _ends(xs, x_ticks), _ends(ys, y_ticks)
    last = text_width(_written(x_ticks[-1], log_x), FONT) / 2
    across = width - left - last - 2
    axes = Axes(left, top + 10, across, across if equal else height, ends_x, ends_y)
    marks: list[Mark] = [*legend]
    for tick in y_ticks:
        y = axes.y(tick)
        marks.append(Path((("M", (left, y)), ("L", (left + axes.width, y))), stroke="faint", width=1))
        marks.append(Text(left - 8, y + 4, _written(tick, log_y), size=FONT, anchor="end", color="muted"))
    bottom = axes.top + axes.height
    marks += [
        Text(axes.x(tick), bottom + 17, _written(tick, log_x), size=FONT, anchor="middle", color="muted")
        for tick in x_ticks
    ]
    for order, (name, curve) in enumerate(curves.items()):
        marks += _curve(name.lstrip("_"), curve, _role(curve, order), axes, (log_x, log_y), dot, digits)
    bottom += 24
    if x_name:
        marks.append(Text(left + axes.width / 2, bottom + 9, x_name, size=12, anchor="middle", color="muted"))
        bottom += 15
    return Block(
        (Group(tuple(marks), kind="chart", content=_content(curves, title, x_name, y_name, digits, log_y)),),
        width,
        bottom,
    )


def caption(text: str, width: float = WIDTH, *, size: float = 12.5, color: str = "muted") -> Block:
    """A paragraph, wrapped to this width."""
    lines = wrap(text, width, size, lines=20)
    marks = tuple(
        Text(0, (i + 0.8) * size * 1.4, written, size=size, color=color) for i, written in enumerate(lines)
    )
    return Block(marks, width, len(lines) * size * 1.4)


def draw_bars(
    values: Mapping[str, float],
    *,
    title: str = "",
    top: float = 1.0,
    width: float = WIDTH,
    digits: str = "{:.2f}",
    mark: float | None = None,
    mark_name: str = "",
) -> Block:
    """A horizontal bar and a number for each name; `mark` is a reference value, drawn as a dashed line."""
    room = 1.1 * max(text_width(name, 12) for name in values) + 10
    number = max(text_width(digits.format(value), 12) for value in values.values()) + 6
    full = width - room - number
    marks: list[Mark] = [Text(0, 12, title, size=13, bold=True)] if title else []
    begin = y = 22.0 if title else 0.0
    for name, value in values.items():
        share = min(1.0, max(0.0, value / top)) if math.isfinite(value) else 0.0
        marks.append(Text(room - 10, y + 13, name, size=12, anchor="end"))
        marks.append(Rect(room, y + 3, full, 12, fill="faint", radius=3))
        marks.append(Rect(room, y + 3, max(2.0, full * share), 12, fill="series-0", radius=3, tip=name))
        marks.append(Text(room + full + 6, y + 13, digits.format(value), size=12))
        y += 21
    if mark is not None:
        x = room + full * mark / top
        marks.append(Path((("M", (x, begin)), ("L", (x, y))), stroke="truth", width=1.5, dashes=(3, 3)))
        marks.append(Text(x, y + 12, mark_name, size=11, color="muted", anchor="middle"))
        y += 17
    chart = Chart("bars", tuple(values), {"": np.array(list(values.values()))}, (), title, "", "", digits)
    return Block((Group(tuple(marks), kind="chart", content=chart),), width, y)


def draw_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, size: float = 12.0, width: float = WIDTH
) -> Block:
    """A table of text and numbers: the first column is aligned left, the others right."""
    columns = list(zip(*(head, *rows), strict=True))
    room = [max(text_width(cell, size) for cell in column) for column in columns]
    gap = min(22.0, max(8.0, (width - sum(room)) / max(1, len(room) - 1)))
    marks: list[Mark] = []
    for r, row in enumerate((head, *rows)):
        x, y = 0.0, (r + 0.75) * size * 1.55
        for c, cell in enumerate(row):
            at, anchor = (x, "start") if c == 0 else (x + room[c], "end")
            marks.append(
                Text(at, y, cell, size=size, anchor=anchor, color="muted" if r == 0 else "ink")  # type: ignore[arg-type]
            )
            x += room[c] + gap
    total = sum(room) + gap * (len(room) - 1)
    rule = size * 1.55 * 1.08
    marks.append(Path((("M", (0, rule)), ("L", (total, rule))), stroke="faint", width=1))
    return Block(tuple(marks), total, (len(rows) + 1) * size * 1.55)


def _role(curve: Curve, order: int) -> str:
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
    return _written(round(exponent), True)


def _written(tick: float, log: bool) -> str:
    if not log:
        return tick_text(tick).replace("-", "−")
    if 0 <= tick <= 3:
        return f"{10 ** int(tick)}"
    return "0.1" if tick == -1 else "10" + f"{tick:.0f}".translate(_RAISED)


def _legend(
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
    roles = {name: _role(curve, order) for order, (name, curve) in enumerate(curves.items())}
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
            marks.append(Path(steps, stroke=roles[name], width=2, dashes=(3, 3)))
        else:
            marks.append(Rect(x, y + 2, 11, 10, fill=roles[name], radius=2.5))
        marks.append(Text(x + 17, y + 11, name, size=12))
        x += room + 14
    return marks, y + (16.0 if y_name or entries else 0.0)


def _curve(
    name: str, curve: Curve, role: str, axes: Axes, logs: tuple[bool, bool], dot: float, digits: str
) -> list[Mark]:
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
            marks.append(Path(steps, stroke=role, width=2, dashes=dashes, tip=name))
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


def draw_raster(
    values: Array,
    *,
    ends: tuple[str, str],
    name: str,
    title: str = "",
    x_name: str = "",
    y_name: str = "",
    x_range: tuple[float, float] = (0.0, 1.0),
    y_range: tuple[float, float] = (0.0, 1.0),
    size: float = 220.0,
    height: float | None = None,
    smooth: bool = False,
    over: Mapping[str, Curve] | None = None,
    scale: bool = True,
    terminal: bool = True,
) -> Block:
    """An array of numbers between 0 and 1 as an image, dark for 0, with axes and the color scale below.

    values    (H, W), first row at the top, or (H, W, 3) pixels in their own colors, without a scale
    ends      the meanings of 0 and 1, at the ends of the scale; `name` is the quantity
    y_range   the values at the bottom and at the top
    over      curves drawn over the image
    scale     whether to draw the scale; if several images share one, see `draw_scale`
    terminal  whether a terminal shows the image too
    """
    high = size if height is None else height
    x_ticks, y_ticks = (
        [tick for tick in ticks(*sorted(one), count=4) if min(one) - 1e-9 <= tick <= max(one) + 1e-9]
        for one in (x_range, y_range)
    )
    left = max(text_width(_written(tick, False), FONT) for tick in y_ticks) + 12 + (18 if y_name else 0)
    names = [name for name in over or {} if not name.startswith("_")]
    heading, top = _legend(over or {}, names, title, "", left + size)
    top += 4 if heading else 0
    axes = Axes(left, top, size, high, x_range, y_range)
    pixels = np.asarray(values, dtype=np.uint8) if values.ndim == 3 else shaded_pixels(values)
    image = Image(left, top, size, high, png(pixels), smooth=smooth, tip=title)
    content = _coarse(values, title, x_range, y_range) if terminal and values.ndim == 2 else Lines((), 0)
    marks: list[Mark] = [*heading, Group((image,), content=content)]
    for tick in y_ticks:
        marks.append(
            Text(left - 7, axes.y(tick) + 4, _written(tick, False), size=FONT, anchor="end", color="muted")
        )
    for tick in x_ticks:
        marks.append(
            Text(
                axes.x(tick),
                top + high + 15,
                _written(tick, False),
                size=FONT,
                anchor="middle",
                color="muted",
            )
        )
    for order, (label, curve) in enumerate((over or {}).items()):
        marks += _curve(label.lstrip("_"), curve, _role(curve, order), axes, (False, False), 3.0, "{:.3g}")
    bottom = top + high + 18
    if y_name:
        middle = top + high / 2 + text_width(y_name, 12) / 2
        marks.append(Text(11, middle, y_name, size=12, color="muted", rotate=-90))
    if x_name:
        marks.append(Text(left + size / 2, bottom + 13, x_name, size=12, anchor="middle", color="muted"))
        bottom += 18
    if values.ndim == 2 and scale:
        legend, bottom = _scale(name, ends, left, bottom + 8, size)
        marks += legend
    return Block(tuple(marks), left + size + 6, bottom, baseline=top)


def draw_scale(name: str, ends: tuple[str, str], width: float) -> Block:
    """The scale that several images share."""
    marks, height = _scale(name, ends, 0.0, 0.0, width)
    return Block(tuple(marks), width, height)


def _coarse(values: Array, title: str, x_range: tuple[float, float], y_range: tuple[float, float]) -> Matrix:
    """The image for a terminal: at most 12 rows and 24 columns, each the mean of its area."""
    bands = [
        np.array_split(np.arange(size), min(size, most))
        for size, most in zip(values.shape, (12, 24), strict=True)
    ]
    means = np.array(
        [[float(values[np.ix_(rows, columns)].mean()) for columns in bands[1]] for rows in bands[0]]
    )
    middles = [
        [low + (high - low) * (float(np.mean(band)) + 0.5) / size for band in found]
        for found, size, (low, high) in zip(bands, values.shape, (y_range[::-1], x_range), strict=True)
    ]
    low, high = x_range
    rows = tuple(f"{y:.3g}" for y in middles[0])
    told = f"{title}, {low:g} to {high:g} across"
    return Matrix(rows, ("·",) * len(middles[1]), means, title=told, shades=means, numbers=False)


def _scale(name: str, ends: tuple[str, str], left: float, y: float, width: float) -> tuple[list[Mark], float]:
    """The colors from 0 to 1, the meaning of both ends, and the quantity."""
    first, last = (text_width(end, FONT) for end in ends)
    bar = max(40.0, width - first - last - 12)
    strip = shaded_pixels(np.linspace(0, 1, 64)[None])
    marks: list[Mark] = [
        Text(left, y + 9, ends[0], size=FONT, color="muted"),
        Group((Image(left + first + 6, y + 1, bar, 9, png(strip), smooth=False),), content=Lines((), 0)),
        Text(left + first + bar + 12, y + 9, ends[1], size=FONT, color="muted"),
    ]
    if name:
        marks.append(Text(left, y + 25, name, size=FONT, color="muted"))
        return marks, y + 29
    return marks, y + 13


def _content(
    curves: Mapping[str, Curve], title: str, x_name: str, y_name: str, digits: str, log: bool
) -> Chart:
    longest = max((curve.x for curve in curves.values()), key=len)
    lines = {name: curve for name, curve in curves.items() if curve.style != "dots"} or curves
    series = {name.lstrip("_"): np.asarray(curve.y, dtype=np.float64) for name, curve in lines.items()}
    places = tuple(float(value) for value in longest)
    over = f"{y_name} over {x_name}" if y_name and x_name else y_name
    return Chart("lines", places, series, (), title, x_name, over, digits, log=log)
