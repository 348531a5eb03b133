"""An array of numbers as an image over two axes, with its color scale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from regard.inspect.axes import FONT, Axes, ticks
from regard.inspect.drawings.lines import Lines
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.layout import Block
from regard.inspect.plot import Curve, draw_curve, draw_legend, role_of, written_tick
from regard.inspect.raster import png, shaded_pixels
from regard.inspect.scene import Group, Image, Mark, Text
from regard.inspect.writing import text_width
from regard.trace import Array


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
    left = max(text_width(written_tick(tick, False), FONT) for tick in y_ticks) + 12 + (18 if y_name else 0)
    names = [name for name in over or {} if not name.startswith("_")]
    heading, top = draw_legend(over or {}, names, title, "", left + size)
    top += 4 if heading else 0
    axes = Axes(left, top, size, high, x_range, y_range)
    pixels = np.asarray(values, dtype=np.uint8) if values.ndim == 3 else shaded_pixels(values)
    image = Image(left, top, size, high, png(pixels), smooth=smooth, tip=title)
    content = (
        _coarse(values, title, ends, x_range, y_range) if terminal and values.ndim == 2 else Lines((), 0)
    )
    marks: list[Mark] = [*heading, Group((image,), content=content)]
    for tick in y_ticks:
        marks.append(
            Text(
                left - 7, axes.y(tick) + 4, written_tick(tick, False), size=FONT, anchor="end", color="muted"
            )
        )
    for tick in x_ticks:
        marks.append(
            Text(
                axes.x(tick),
                top + high + 15,
                written_tick(tick, False),
                size=FONT,
                anchor="middle",
                color="muted",
            )
        )
    for order, (label, curve) in enumerate((over or {}).items()):
        marks += draw_curve(label.lstrip("_"), curve, role_of(curve, order), axes, (False, False), 3.0)
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


def _coarse(
    values: Array,
    title: str,
    ends: tuple[str, str],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
) -> Matrix:
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
    told = f"{title} (0: {ends[0]}, 1: {ends[1]}), {low:g} to {high:g} across"
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
