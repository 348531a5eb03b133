"""The curve of a learning-rate finder: the loss by the rate, on a logarithmic axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.inspect.axes import FONT, Axes, label_room, ticks
from regard.inspect.chart import draw_legend
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import Block, frame
from regard.inspect.palette import series_color
from regard.inspect.scene import Group, Mark, Scene, Shape, Text, polyline

WIDTH, HEIGHT = 330.0, 170.0


def rates_figure(
    rates: Sequence[float], losses: Sequence[float], smoothed: Sequence[float], *, suggestion: float
) -> Scene:
    """The loss of each update and the smoothed loss; what rose far above the first loss is cut off. A dashed line is at
    the suggested rate."""
    top = 1.5 * max(losses[0], smoothed[0])
    series = {
        name: np.array([value if value <= top else math.nan for value in values])
        for name, values in (("smoothed", smoothed), ("loss", losses))
    }
    places = tuple(math.log10(rate) for rate in rates)
    chart = Chart("lines", places, series, (), "", "log10 of the rate", "loss", "{:.4g}")
    known = [value for values in series.values() for value in values.tolist() if math.isfinite(value)]
    y_ticks = tuple(ticks(min(known), max(known), count=4))
    powers = range(math.floor(places[0]), math.ceil(places[-1] - 1e-9) + 1)
    legend, above = draw_legend(chart)
    axes = Axes(label_room(list(y_ticks)), above + 14, WIDTH, HEIGHT, tuple(map(float, powers)), y_ticks)
    bottom = axes.top + HEIGHT
    marks: list[Mark] = [*legend, *axes.rules()]
    marks += [
        Text(axes.x(power), bottom + 17, f"1e{power}", size=FONT, anchor="middle", color="muted")
        for power in powers
    ]
    x = axes.x(max(math.log10(suggestion), powers[0]))
    marks.append(
        Shape((("M", (x, axes.top)), ("L", (x, bottom))), stroke="muted", width=1.2, dashes=(5.0, 4.0))
    )
    for order, values in reversed(list(enumerate(series.values()))):
        points = [
            (axes.x(at), axes.y(float(value)))
            for at, value in zip(places, values, strict=True)
            if math.isfinite(value)
        ]
        color = series_color(order)
        marks.append(polyline(points, color=color, width=2.0 if order == 0 else 1.0))
    told = "learning rate; dashed: the suggestion"
    marks.append(Text(axes.left + WIDTH / 2, bottom + 36, told, size=12, anchor="middle", color="muted"))
    block = Block((Group(tuple(marks), kind="chart", content=chart),), axes.left + WIDTH + 14, bottom + 42)
    return frame(
        block,
        title=f"suggested learning rate {suggestion:g}",
        description=f"The loss while the learning rate rises; the suggestion is {suggestion:g}.",
    )
