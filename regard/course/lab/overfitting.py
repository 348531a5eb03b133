"""Overfitting: what a network learns of a few rows is also their noise.

    target = sin(3 x) + noise · ε            L = ½ mean (y − target)²

A network of one hidden layer is trained by Adam on few rows, on few rows with weight decay, and on many; its loss on
rows that it does not see (dev) tells them apart. No network can expect less than ½ noise² there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.course.lab.small_network import SmallNetwork, first_parameters, half_squares
from regard.inspect.layout import Block
from regard.inspect.plot import Curve, draw_plot
from regard.parts import Seed, register
from regard.trace import Array

MANY, DEV = 400, 400
EVERY = 10
"""Updates between two evaluations."""


@register("lab", "overfitting")
class OverfittingLab(Lab):
    """Losses on the rows that a network sees and on others, with few rows and with many."""

    class Options(Lab.Options):
        """Losses on the rows that a network sees and on others, with few rows and with many."""

        rows: Annotated[int, Field(ge=2, le=200)] = 10
        """The few rows."""
        units: Annotated[int, Field(ge=1, le=100)] = 30
        """Hidden units."""
        updates: Annotated[int, Field(ge=10, le=5000)] = 1200
        """Updates of Adam, each on all rows."""
        rate: Annotated[float, Field(gt=0, le=1)] = 0.003
        """Learning rate."""
        noise: Annotated[float, Field(ge=0, le=5)] = 0.3
        """Standard deviation of the noise of the targets."""
        decay: Annotated[float, Field(ge=0, le=10)] = 0.5
        """Weight decay of the second network."""
        seed: Seed = 0
        """Seed of rows, noise and parameters."""

    summary = "overfitting: train and dev loss of a network on few rows, with weight decay, and on many rows"

    @classmethod
    def run(cls, options: Any) -> LabResult:
        generator = np.random.default_rng(options.seed)
        x = generator.uniform(-1, 1, MANY + DEV)
        y = np.sin(3 * x) + options.noise * generator.standard_normal(len(x))
        start = first_parameters(options.units, generator)
        few, dev = slice(0, options.rows), slice(MANY, MANY + DEV)
        found = {
            f"{options.rows} rows": fit(start, x[few], y[few], x[dev], y[dev], options, 0.0),
            f"{options.rows} rows, decay": fit(start, x[few], y[few], x[dev], y[dev], options, options.decay),
            f"{MANY} rows": fit(start, x[:MANY], y[:MANY], x[dev], y[dev], options, 0.0),
        }
        rows = [
            (name, float(one.train[-1]), float(one.dev[-1]), float(one.dev.min()), int(one.best))
            for name, one in found.items()
        ]
        first = next(iter(found.values()))
        worse = first.dev[-1] / first.dev.min()
        floor = options.noise**2 / 2
        return LabResult(
            title="Overfitting",
            see=f"On {options.rows} rows the train loss falls to {written(rows[0][1])}, while the dev loss is lowest "
            f"({written(rows[0][3])}) after {rows[0][4]:,} updates and ends {worse:.1f} times as high; weight decay "
            f"ends at {written(rows[1][2])}, {MANY} rows at {written(rows[2][2])}, the noise alone is "
            f"{written(floor)}.",
            blocks=[
                *(_losses(name, one, floor, first) for name, one in found.items()),
                _fits(found, x[few], y[few]),
            ],
            table=(("", "train, last", "dev, last", "dev, lowest", "after updates"), rows),
            numbers={
                "noise_floor": floor,
                "updates": first.at,
                "train": {name: one.train for name, one in found.items()},
                "dev": {name: one.dev for name, one in found.items()},
            },
        )


@dataclass(frozen=True, eq=False)
class Fitted:
    """Losses at some updates, the update with the lowest dev loss, and the last parameters."""

    at: Array
    train: Array
    dev: Array
    best: int
    parameters: Array


def fit(start: Array, x: Array, y: Array, dev_x: Array, dev_y: Array, options: Any, decay: float) -> Fitted:
    """Train with Adam on all rows at once; `decay` shrinks the parameters at each update (AdamW)."""
    theta, mean, square = start, np.zeros_like(start), np.zeros_like(start)
    at, train, dev = [], [], []
    for update in range(options.updates + 1):
        network = SmallNetwork(theta, x)
        outputs = network.outputs
        if update % EVERY == 0 or update == options.updates:
            at.append(float(update))
            train.append(half_squares(outputs, y))
            dev.append(half_squares(SmallNetwork(theta, dev_x).outputs, dev_y))
        gradient = network.backward(outputs - y) / len(x)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        count = update + 1
        step = mean / (1 - 0.9**count) / (np.sqrt(square / (1 - 0.999**count)) + 1e-8)
        if update < options.updates:
            theta = theta - options.rate * (step + decay * theta)
    losses = np.array(dev)
    return Fitted(np.array(at), np.array(train), losses, int(at[int(losses.argmin())]), theta)


def _losses(name: str, found: Fitted, floor: float, first: Fitted) -> Block:
    low = max(1e-4, min(float(first.train.min()), floor or 1.0))
    high = max(float(first.dev.max()), float(first.train.max()))
    curves = {"train": Curve(found.at, found.train), "dev": Curve(found.at, found.dev)}
    if floor:
        curves["noise"] = Curve(found.at, np.full(len(found.at), floor), "dashes", "muted")
    return draw_plot(
        curves,
        title=f"Loss, {name}",
        x_name="updates",
        log_y=True,
        height=90,
        y_range=(10 ** np.floor(np.log10(low)), 10 ** np.ceil(np.log10(high))),
    )


def _fits(found: dict[str, Fitted], x: Array, y: Array) -> Block:
    grid = np.linspace(-1, 1, 121)
    curves = {name: Curve(grid, SmallNetwork(one.parameters, grid).outputs) for name, one in found.items()}
    curves["sin(3 x)"] = Curve(grid, np.sin(3 * grid), "dashes", "muted")
    curves["the few rows"] = Curve(x, y, "dots", "ink")
    return draw_plot(
        curves, title="What was learned", x_name="x", height=150, y_range=(-2, 2), x_range=(-1, 1)
    )
