"""Charts in character cells: bars for categories, one line of blocks for a curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.drawings.matrix import FEW
from regard.inspect.palette import series_color
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import shorten_words
from regard.parts import register
from regard.trace import Array

_BLOCKS = "▁▂▃▄▅▆▇█"
DECADES = 12
"""Maximum number of powers of ten on a logarithmic axis."""


@register("drawing", "chart")
@dataclass(frozen=True, eq=False)
class Chart(Drawing):
    """Values of several series over the same categories, or over numbers along an axis.

    series      name → values, NaN if missing
    counts      number of items in each category, or empty
    intervals   name → (places, 2), the bounds of each value; or empty
    log         whether the vertical axis is logarithmic
    """

    style: Literal["bars", "lines"]
    places: tuple[str, ...] | tuple[float, ...]
    series: Mapping[str, Array]
    counts: tuple[int, ...] = ()
    title: str = ""
    x_name: str = ""
    y_name: str = ""
    digits: str = "{:.1f}"
    intervals: Mapping[str, Array] = field(default_factory=dict)
    log: bool = False

    def is_weak(self, place: int) -> bool:
        """Whether a category has so few items that its value means little."""
        return bool(self.counts) and self.counts[place] < FEW

    @property
    def has_weak(self) -> bool:
        return any(map(self.is_weak, range(len(self.counts))))

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)


def _lines(chart: Chart, width: int, ink: Ink) -> Iterator[Text]:
    """A chart over categories as grouped bars; over numbers, one curve per line."""
    if chart.title or chart.y_name:
        title = " · ".join(filter(None, (chart.title, chart.y_name)))
        yield Text(shorten_words(title, width), style=ink.style("ink", bold=True))
    if any(isinstance(place, str) for place in chart.places):
        yield from _bars(chart, width, ink)
    else:
        yield from _curves(chart, width, ink)


def _bars(chart: Chart, width: int, ink: Ink) -> Iterator[Text]:
    finite = [float(v) for values in chart.series.values() for v in values if math.isfinite(v)]
    top = max(finite, default=1.0) or 1.0
    places = [
        f"{place}" + (f"  n={chart.counts[i]}" if chart.counts else "")
        for i, place in enumerate(chart.places)
    ]
    place_width = min(max(map(cell_len, places), default=1), max(1, width // 3))
    name_width = min(max(map(cell_len, chart.series), default=1), max(1, width // 4))
    number_width = max((len(chart.digits.format(v)) for v in finite), default=1)
    bar = max(1, width - place_width - name_width - number_width - 4)
    for i, place in enumerate(places):
        for order, (name, values) in enumerate(chart.series.items()):
            value = float(values[i])
            line = Text(fit(place if order == 0 else "", place_width), no_wrap=True, overflow="crop")
            line.append("  " + fit(name, name_width) + " ", style=ink.style(series_color(order)))
            number = chart.digits.format(value) if math.isfinite(value) else "–"
            line.append(number.rjust(number_width) + " ", style=ink.style("ink"))
            share = value / top if math.isfinite(value) else 0.0
            line.append(ink.bar(share, bar, "muted" if chart.is_weak(i) else series_color(order)))
            line.rstrip()
            line.truncate(width)
            yield line


def _curves(chart: Chart, width: int, ink: Ink) -> Iterator[Text]:
    name_width = min(max(map(cell_len, chart.series), default=1), max(1, width // 4))
    exponents = _log_range(chart) if chart.log else None
    for order, (name, values) in enumerate(chart.series.items()):
        finite = values[np.isfinite(values)]
        line = Text(
            fit(name, name_width) + " ", style=ink.style(series_color(order)), no_wrap=True, overflow="crop"
        )
        if len(finite):
            ends = f" {chart.digits.format(finite[0])} → {chart.digits.format(finite[-1])}"
            room = max(1, width - name_width - 1 - len(ends))
            line.append(_sparkline(finite, room) if exponents is None else _log_line(finite, room, exponents))
            line.append(ends, style=ink.style("muted"))
        line.truncate(width)
        yield line


def _log_range(chart: Chart) -> tuple[float, float]:
    """The range of exponents of a logarithmic axis, shared by its curves so that they can be compared."""
    values = np.concatenate([*chart.series.values(), np.zeros(0)])
    exponents = np.log10(values[np.isfinite(values) & (values > 0)])
    lowest = float(exponents.max(initial=0.0)) - DECADES
    return max(float(exponents.min(initial=0.0)), lowest), float(exponents.max(initial=0.0))


def _log_line(values: Array, width: int, ends: tuple[float, float]) -> str:
    low, high = ends
    parts = np.array_split(values, min(width, len(values)))
    with np.errstate(divide="ignore"):
        shares = [float((np.log10(part).mean() - low) / ((high - low) or 1.0)) for part in parts]
    return "".join(
        _BLOCKS[min(7, max(0, int(8 * share)))] if share > -1e9 else _BLOCKS[0] for share in shares
    )


def _sparkline(values: Array, width: int) -> str:
    """The values as blocks of eight heights, averaged if there are more than cells."""
    means = [float(part.mean()) for part in np.array_split(values, min(width, len(values)))]
    low, high = min(means), max(means)
    span = (high - low) or 1.0
    return "".join(_BLOCKS[min(7, int(8 * (value - low) / span))] for value in means)
