"""Horizontal bars, each with its name and its number."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Group, Mark, Rect, Shape, Text
from regard.inspect.writing import text_width


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
        marks.append(Shape((("M", (x, begin)), ("L", (x, y))), stroke="truth", width=1.5, dashes=(3, 3)))
        marks.append(Text(x, y + 12, mark_name, size=11, color="muted", anchor="middle"))
        y += 17
    chart = Chart("bars", tuple(values), {"": np.array(list(values.values()))}, (), title, "", "", digits)
    return Block((Group(tuple(marks), kind="chart", content=chart),), width, y)
