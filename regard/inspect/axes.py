"""Axes: ticks at round numbers, their labels, and the positions of values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from regard.inspect.scene import Mark, Text, line
from regard.inspect.writing import text_width

FONT = 11.0


def ticks(low: float, high: float, *, count: int = 5) -> list[float]:
    """About `count` round numbers (1, 2 or 5 times a power of ten apart) that enclose the range from low to high."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return [0.0, 1.0]
    if high <= low:
        low, high = low - 0.5 * (abs(low) or 1.0), high + 0.5 * (abs(high) or 1.0)
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if raw <= factor * power * (1 + 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def tick_text(value: float) -> str:
    """The label of a tick: 20000 as 20k, 0.5 as 0.5."""
    if abs(value) >= 10_000 and value % 100 == 0:
        return f"{value / 1000:g}k"
    return f"{value:g}"


@dataclass(frozen=True)
class Axes:
    """A plot area of `width` by `height` at (left, top), with values between the first and the last tick."""

    left: float
    top: float
    width: float
    height: float
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]

    def x(self, value: float) -> float:
        low, high = self.x_ticks[0], self.x_ticks[-1]
        return self.left + self.width * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_ticks[0], self.y_ticks[-1]
        return self.top + self.height * (1 - (value - low) / (high - low))

    def rules(self) -> list[Mark]:
        """A faint line and a number for each tick of the vertical axis."""
        marks: list[Mark] = []
        for tick in self.y_ticks:
            y = self.y(tick)
            marks.append(line(self.left, y, self.left + self.width, y))
            marks.append(Text(self.left - 8, y + 4, tick_text(tick), size=FONT, anchor="end", color="muted"))
        return marks

    def numbers(self) -> list[Mark]:
        """The tick labels of the horizontal axis, below it."""
        bottom = self.top + self.height
        return [
            Text(self.x(tick), bottom + 17, tick_text(tick), size=FONT, anchor="middle", color="muted")
            for tick in self.x_ticks
        ]


def label_room(y_ticks: list[float]) -> float:
    """The width of the tick labels of the vertical axis, with padding."""
    return max(text_width(tick_text(tick), FONT) for tick in y_ticks) + 12
