"""The figures of a sweep: the best over trials, which setting matters, values by setting, and all settings together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from regard.inspect import Card
from regard.inspect.axes import FONT, tick_text, ticks
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import BOLDER, Block, frame
from regard.inspect.named_bars import draw_bars
from regard.inspect.palette import Color, Shade
from regard.inspect.plot import Curve, draw_plot
from regard.inspect.scene import Circle, Group, Mark, Rect, Scene, Text, line, polyline
from regard.inspect.writing import text_width
from regard.sweep.plan import SweepPlan
from regard.sweep.ranges import NumberRange, Range
from regard.sweep.result import SweepResult, SweepTrial, better

WIDE, ROW, TOP = 350.0, 62.0, 22.0
"""Width of a figure, which fits on a phone; height of a row of the figure of all settings, and of what is above its
line."""
LOGARITHMIC = 30.0
"""Ratio of the largest to the smallest value from which their axis is logarithmic."""
FAINTEST, STRONGEST = 0.15, 0.85
"""Shades of the worst and of the best trial."""


def done(found: SweepResult) -> list[SweepTrial]:
    """The trials with a value."""
    return [one for one in found.trials if one.value is not None]


def _is_log(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) > LOGARITHMIC


def best_over_trials(found: SweepResult) -> Scene:
    """The value of each trial, and the best so far."""
    trials = done(found)
    values = [float(one.value or 0.0) for one in trials]
    best: list[float] = []
    for value in values:
        best.append(value if not best or better(value, best[-1], maximize=found.maximize) else best[-1])
    numbers = np.array([float(one.number) for one in trials])
    curves = {
        "trial": Curve(numbers, np.array(values), "dots", "muted"),
        "best so far": Curve(numbers, np.array(best), "line", "series-0"),
    }
    block = draw_plot(
        curves, x_name="trial", y_name=f"dev {found.metric}", log_y=_is_log(values), width=WIDE, height=190
    )
    told = f"The best dev {found.metric} after each of {len(trials)} trials: {best[0]:.4g} first, {best[-1]:.4g} last."
    return frame(block, description=told)


def importance_bars(shares: dict[str, float]) -> Scene:
    """The share of each setting in the differences between trials."""
    told = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    block = draw_bars(shares, width=WIDE, digits="{:.0%}")
    return frame(block, description=f"Importance of each setting: {told}.")


def values_by_setting(plan: SweepPlan, found: SweepResult, path: str) -> Card:
    """The value of each trial over one setting."""
    one, trials = plan.ranges[path], done(found)
    if not isinstance(one, NumberRange):
        return Card(_by_choice(one, found, path), path)
    places = np.array([_position(one, trial.drawn[path]) for trial in trials])
    values = [float(trial.value or 0.0) for trial in trials]
    curves = {"": Curve(places, np.array(values), "dots", "series-0")}
    block = draw_plot(curves, y_name=f"dev {found.metric}", log_x=one.log, log_y=_is_log(values), height=130)
    return Card(frame(block, description=f"dev {found.metric} by {path}."), path)


def _by_choice(one: Range, found: SweepResult, path: str) -> Scene:
    """A row for each choice, with a dot for the value of each of its trials."""
    trials, names = done(found), _names(one)
    axis = _metric_axis(found)
    room = max(text_width(name, 12) for name in names) + 12
    full = WIDE - room - 6
    marks: list[Mark] = [Text(room, 11, axis.name, size=12, color="muted")]
    for row, name in enumerate(names):
        y = 34.0 + 26 * row
        marks += [Text(room - 10, y + 4, name, size=12, anchor="end"), line(room, y, room + full, y)]
        for trial in trials:
            if str(trial.drawn[path]) == name:
                at = room + full * axis.place(float(trial.value or 0.0))
                tip = f"trial {trial.number}: {trial.value:.4g}"
                marks.append(Circle(at, y, 4, fill="series-0", opacity=0.6, tip=tip))
    bottom = 34.0 + 26 * len(names)
    for at, text in axis.labels:
        x = min(max(room + full * at, room), room + full - text_width(text, FONT) / 2)
        marks.append(Text(x, bottom + 4, text, size=FONT, anchor="middle", color="muted"))
    block = Block((Group(tuple(marks), kind="chart", content=_chart(found)),), WIDE, bottom + 10)
    return frame(block, description=f"dev {found.metric} by {path}.")


def _names(one: Range) -> list[str]:
    return [] if isinstance(one, NumberRange) else list(one.distribution().choices)  # type: ignore[attr-defined]


def _position(one: Range, drawn: object) -> float:
    """A number, or the place of a choice from 1."""
    return float(drawn) if isinstance(one, NumberRange) else 1.0 + _names(one).index(str(drawn))  # type: ignore[arg-type]


class _Axis:
    """One row of the figure of all settings: a name, and places from 0 to 1."""

    def __init__(
        self, name: str, low: float, high: float, *, log: bool, labels: Sequence[tuple[float, str]]
    ) -> None:
        self.name, self.low, self.high, self.log = name, low, high, log
        self.labels = [(self.place(value), text) for value, text in labels]

    def place(self, value: float) -> float:
        low, high, at = (math.log(one) if self.log else one for one in (self.low, self.high, value))
        return 0.5 if high <= low else (at - low) / (high - low)


def _axis(path: str, one: Range) -> _Axis:
    if isinstance(one, NumberRange):
        marks = _numbers(one.low, one.high, log=one.log)
        return _Axis(path, one.low, one.high, log=one.log, labels=marks)
    names = _names(one)
    return _Axis(path, 0.5, len(names) + 0.5, log=False, labels=list(enumerate(names, 1)))


def _numbers(low: float, high: float, *, log: bool) -> list[tuple[float, str]]:
    """Both ends of an axis, and round numbers between them that leave room."""
    if log:
        first, last = math.ceil(math.log10(low)), math.floor(math.log10(high))
        inside = [10.0**power for power in range(first, last + 1)]
        apart = math.log(high / low) * 0.18
        inside = [one for one in inside if min(math.log(one / low), math.log(high / one)) > apart]
    else:
        apart = (high - low) * 0.18
        inside = [one for one in ticks(low, high, count=4) if low + apart < one < high - apart]
    return [(one, tick_text(float(f"{one:.3g}"))) for one in (low, *inside, high)]


def _metric_axis(found: SweepResult) -> _Axis:
    values = [float(one.value or 0.0) for one in done(found)]
    low, high, log = min(values), max(values), _is_log(values)
    labels = _numbers(low, high, log=log) if high > low else [(low, f"{low:.4g}")]
    return _Axis(f"dev {found.metric}", low, high, log=log, labels=labels)


def _chart(found: SweepResult) -> Chart:
    trials = done(found)
    return Chart(
        "lines",
        tuple(float(one.number) for one in trials),
        {f"dev {found.metric}": np.array([float(one.value or 0.0) for one in trials])},
        x_name="trial",
        y_name=f"dev {found.metric}",
        digits="{:.4g}",
    )


def all_settings(plan: SweepPlan, found: SweepResult) -> Scene:
    """Parallel coordinates from top to bottom: a line for each trial through its settings, down to its value. The
    better a trial, the stronger its color; the best is in the color of truth."""
    trials, metric = done(found), _metric_axis(found)
    axes = [*(_axis(path, one) for path, one in plan.ranges.items()), metric]
    order = sorted(trials, key=lambda one: (one.value or 0.0) * (1 if found.maximize else -1))
    marks: list[Mark] = []
    for number in range(len(axes)):
        marks.append(line(0, ROW * number + TOP, WIDE, ROW * number + TOP, color="muted", width=1))
    for rank, one in enumerate(order):
        chosen = [
            axes[place].place(_position(within, one.drawn[path]))
            for place, (path, within) in enumerate(plan.ranges.items())
        ]
        chosen.append(metric.place(float(one.value or 0.0)))
        points = [(WIDE * at, ROW * number + TOP) for number, at in enumerate(chosen)]
        is_best = found.best is not None and one.number == found.best.number
        shade = FAINTEST + (STRONGEST - FAINTEST) * rank / max(1, len(order) - 1)
        color: Color = "truth" if is_best else Shade(shade)
        marks.append(polyline(points, color=color, width=2.5 if is_best else 1.25))
        tip = f"trial {one.number}: dev {found.metric} {one.value:.4g}"
        marks += [Circle(*point, 3.5 if is_best else 2.0, fill=color, tip=tip) for point in points]
    for number, axis in enumerate(axes):
        y = ROW * number + TOP
        marks += _written(0, y - 9, axis.name, 12, color="ink", bold=True)
        for at, text in axis.labels:
            wide = text_width(text, FONT) / 2
            x = min(max(WIDE * at, wide), WIDE - wide)
            marks += _written(x - wide, y + 15, text, FONT, color="muted")
    block = Block(
        (Group(tuple(marks), kind="chart", content=_chart(found)),), WIDE, ROW * (len(axes) - 1) + TOP + 20
    )
    told = f"A line for each of {len(trials)} trials through its settings and its dev {found.metric}."
    return frame(block, description=told)


def _written(x: float, y: float, text: str, size: float, *, color: str, bold: bool = False) -> list[Mark]:
    """A text that stays readable above lines."""
    wide = text_width(text, size) * (BOLDER if bold else 1.0)
    ground = Rect(x - 2, y - size + 1, wide + 4, size + 3, fill="paper", radius=2, opacity=0.85)
    return [ground, Text(x, y, text, size=size, color=color, bold=bold)]
