"""Gradients that explode or vanish: the product of T − 1 equal factors.

    h_t = φ(w h_{t−1} + u x_t)        ∂h_T/∂h_1 = w^{T−1} φ'(z_2) ⋯ φ'(z_T)

With a linear φ this is w^{T−1}: at T = 50, 106.7 for w = 1.1 and 0.00573 for w = 0.9 (w^50, which is often
printed instead, is 117.4 and 0.00515). The toy example has a loss, which asks each w for another learning rate η:

    y_T = w^{T−1},   L = ½ (y_T − 1)²,   ∂L/∂w = (y_T − 1) (T − 1) w^{T−2}        η = 0.01 / |∂L/∂w|
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.plot import Curve, draw_plot
from regard.inspect.table import draw_table
from regard.parts import register
from regard.trace import Array

Weight = Annotated[float, Field(ge=-10.0, le=10.0)]
MOVED = 0.01
"""The step in w whose learning rate is given."""


@register("lab", "jacobian")
class JacobianLab(Lab):
    """∂h_T/∂h_1 of a recurrence of one unit, over T."""

    class Options(Lab.Options):
        """∂h_T/∂h_1 of a recurrence of one unit, over T."""

        weights: Annotated[tuple[Weight, ...], Field(min_length=1, max_length=6)] = (1.1, 0.9)
        """Recurrent weights w, one curve each."""
        steps: Annotated[int, Field(ge=2, le=1000)] = 50
        """T, the number of steps."""
        toy: Annotated[tuple[Weight, ...], Field(max_length=6)] = (1.0, 1.01, 0.99, 0.01)
        """Weights of the toy example y_T = w y_{T−1}, y_1 = 1."""
        toy_steps: Annotated[int, Field(ge=2, le=5000)] = 1000
        """T of the toy example."""
        start: Weight = 0.5
        """h_1, which matters only for tanh."""

    summary = "∂h_T/∂h_1 = w^(T−1): gradients explode above w = 1 and vanish below it"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        steps = np.arange(1, options.steps + 1)
        linear = {w: jacobian(w, options.steps) for w in options.weights}
        squashed = {w: jacobian(w, options.steps, start=options.start, squash=True) for w in options.weights}
        curves = {
            **{f"w = {w:g}": Curve(steps, np.abs(found)) for w, found in linear.items()},
            **{
                f"w = {w:g}, tanh": Curve(steps, np.abs(found), "dashes", f"series-{i}")
                for i, (w, found) in enumerate(squashed.items())
            },
        }
        toy = {w: _power(w, options.toy_steps - 1) for w in options.toy}
        T, many = options.steps, options.toy_steps
        rows: list[tuple[object, ...]] = [
            (f"w = {w:g}, T = {T}", found[-1], _power(w, T), (T - 1) * _power(w, T - 2), squashed[w][-1])
            for w, found in linear.items()
        ]
        rows += [
            (
                f"w = {w:g}, T = {many:,}",
                told_power(w, many - 1),
                told_power(w, many),
                told_power(w, many - 2, many - 1),
                "",
            )
            for w in toy
        ]
        table = (("", "w^(T−1)", "w^T", "∂w^(T−1)/∂w", "with tanh"), rows)
        told = [f"{written(found[-1])} for w = {w:g}" for w, found in linear.items()]
        plot = draw_plot(
            curves,
            x_name="T",
            y_name="|∂h_T/∂h_1|",
            log_y=True,
            y_range=_window([*linear.values(), *squashed.values()]),
        )
        return LabResult(
            title="One weight, many steps",
            see=f"On this logarithmic axis the linear recurrence is a straight line: over the {T - 1} steps from h_1 "
            f"to h_{T} the gradient is multiplied by {' and '.join(told)}. With tanh it only becomes smaller.",
            blocks=[
                plot,
                *(draw_table(head, shown) for head, shown in _drawn(table[0], rows, len(linear)) if shown),
            ],
            table=table,
            numbers={
                "steps": steps,
                "linear": {f"{w:g}": v for w, v in linear.items()},
                "tanh": {f"{w:g}": v for w, v in squashed.items()},
                "toy": {f"{w:g}": v for w, v in toy.items()},
                "toy_log_slope": {f"{w:g}": log_slope(w, many) for w in toy},
            },
            worked=[
                *(_product(w, options.steps, options.start) for w in options.weights),
                *_rates(options.toy, many),
            ],
        )


def _product(weight: float, steps: int, start: float) -> str:
    """∂h_T/∂h_1 with tanh as w^{T−1} times the slopes, with its numbers."""
    power, slopes = _power(weight, steps - 1), float(np.prod(slopes_of_tanh(weight, steps, start)))
    return (
        f"tanh, w = {weight:g}: ∂h_{steps}/∂h_1 = w^{steps - 1} · φ′(z_2) ⋯ φ′(z_{steps}) = "
        f"{written(power)} · {written(slopes)} = {written(power * slopes)}"
    )


def _rates(weights: Sequence[float], steps: int) -> list[str]:
    """∂L/∂w of the toy example for each w, and the learning rate that moves w by MOVED."""
    if not weights:
        return []
    lines = [f"toy, L = ½ (y − 1)² with y = w^{steps - 1}: the learning rate η that moves w by {MOVED:g}"]
    for w in weights:
        slope = log_slope(w, steps)
        needed = f"η = {_raised(math.log10(MOVED) - slope)}" if np.isfinite(slope) else "no η moves it"
        lines.append(f"  w = {w:g}: |∂L/∂w| = |y − 1| |∂y/∂w| = {_raised(slope)}, {needed}")
    return lines


def log_slope(weight: float, steps: int) -> float:
    """log₁₀ |∂L/∂w| of L = ½ (w^{T−1} − 1)², which may be too small or too large for a float; −∞ if it is 0."""
    error = abs(_power(weight, steps - 1) - 1)
    if error == 0 or (weight == 0 and steps > 2):
        return -math.inf
    size = math.log10(abs(weight)) if weight else 0.0
    far = math.log10(error) if np.isfinite(error) else (steps - 1) * size
    return far + math.log10(steps - 1) + (steps - 2) * size


def _raised(exponent: float) -> str:
    """Format 10^x, even if it is too small or too large for a float."""
    if exponent == -math.inf or abs(exponent) < 300:
        return written(10.0**exponent)
    return f"1e{round(exponent)}".replace("-", "−")


def slopes_of_tanh(weight: float, steps: int, start: float) -> Array:
    """φ'(z_2) … φ'(z_T) of h_t = tanh(z_t), z_t = w h_{t−1}."""
    state, found = start, []
    for _ in range(steps - 1):
        state = np.tanh(weight * state)
        found.append(1 - state**2)
    return np.array(found)


def jacobian(weight: float, steps: int, *, start: float = 0.0, squash: bool = False) -> Array:
    """∂h_t/∂h_1 for t = 1 … steps of h_t = φ(w h_{t−1}), where φ is tanh or the identity."""
    found, state, factor = [1.0], start, 1.0
    for _ in range(steps - 1):
        state = np.tanh(weight * state) if squash else weight * state
        factor *= weight * (1 - state**2 if squash else 1.0)
        found.append(factor)
    return np.array(found)


def _drawn(
    head: Sequence[str], rows: Sequence[tuple[object, ...]], many: int
) -> list[tuple[list[str], list[list[str]]]]:
    """The table in two, which are narrow enough to draw: the curves without the slope, the toy example with it."""
    found = []
    for part, keep in ((rows[:many], (0, 1, 2, 4)), (rows[many:], (0, 1, 2, 3))):
        found.append(([head[i] for i in keep], [[written(row[i]) for i in keep] for row in part]))
    return found


def _power(weight: float, exponent: int) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(np.float64(weight) ** exponent)


def told_power(weight: float, exponent: int, times: int = 1) -> str:
    """Format w^n, or a multiple of it, even if it is too small or too large for a float: 1e−1998."""
    value = times * _power(weight, exponent)
    if weight == 0 or (value != 0 and np.isfinite(value)):
        return written(value)
    sign = "−" if weight < 0 and exponent % 2 else ""
    return f"{sign}1e{round(exponent * np.log10(abs(weight)) + np.log10(times))}".replace("e-", "e−")


def _window(found: list[Array]) -> tuple[float, float]:
    """The range of the y axis: all values, limited to 1e−12 … 1e12."""
    values = np.abs(np.concatenate(found))
    values = values[np.isfinite(values) & (values > 0)]
    if not len(values):
        return 0.1, 10.0
    low, high = max(float(values.min()), 1e-12), min(float(values.max()), 1e12)
    return 10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(max(high, low * 10)))
