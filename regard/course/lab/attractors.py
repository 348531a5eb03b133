"""Iterated functions and their attractors: why gradients vanish inside a basin and explode at its boundary.

    f(x) = r x (1 − x), iterated once, twice, three times, many times
    h_{t+1} = tanh(W h_t + b) in the plane: the attractor each start ends at, and ‖∂h_T/∂h_1‖

Inside a basin a small move of h_1 changes nothing at the end; across a boundary it changes everything. What was
iterated often is flat where it ends at an attractor: each step there shrinks a difference by the same factor, below 1.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from regard.course.lab.lab import Lab, LabResult, written
from regard.inspect.image_plot import draw_raster
from regard.inspect.layout import Block, below, beside
from regard.inspect.palette import LIGHT, series_color
from regard.inspect.plot import Curve, draw_plot, power_of_ten
from regard.parts import register
from regard.trace import Array

Number = Annotated[float, Field(ge=-20, le=20)]
Row = tuple[Number, Number]
REACH = 1.2
"""The map shows starts from −REACH to REACH in both units."""
SAME = 0.05
"""End points closer than this count as one attractor."""
VANISHED = 0.01
"""A gradient below this counts as vanished: the end is flat in the start."""
LONG = 60
"""Steps over which the factor of each step is averaged at an attractor."""


@register("lab", "attractors")
class AttractorsLab(Lab):
    """Iterated functions: fixed points, basins, and the gradient at their boundaries."""

    class Options(Lab.Options):
        """Iterated functions: fixed points, basins, and the gradient at their boundaries."""

        rate: Annotated[float, Field(ge=0, le=4)] = 3.5
        """r of f(x) = r x (1 − x)."""
        many: Annotated[int, Field(ge=4, le=1000)] = 40
        """How often f is iterated in the last panel."""
        weights: tuple[Row, Row] = ((2.0, 0.4), (-0.3, 2.0))
        """W of the network of two units."""
        steps: Annotated[int, Field(ge=2, le=200)] = 20
        """T, the steps of the network."""
        grid: Annotated[int, Field(ge=10, le=400)] = 160
        """Starts along each side of the map."""

    summary = (
        "3.5 x (1 − x) iterated; basins of a small network, ‖∂h_T/∂h_1‖ from each start, and where it is flat"
    )

    @classmethod
    def run(cls, options: Any) -> LabResult:
        x = np.linspace(0, 1, 801)
        times = (1, 2, 3, options.many)
        panels = [_iterated(options.rate, x, count) for count in times]
        side = np.linspace(-REACH, REACH, options.grid)
        starts = np.stack(np.meshgrid(side, side[::-1]), -1)  # (G, G, 2), the first row at the top
        weights = np.array(options.weights)
        ends, slopes = follow(weights, starts, options.steps)
        settled = ends
        for _ in range(200):
            settled = np.tanh(settled @ weights.T)
        names, homes = basins(settled)
        logs = np.log10(np.maximum(slopes, 1e-12))
        high = float(logs.max())
        low = max(float(logs.min()), min(-8.0, high - 8))
        inside, largest = float(np.median(slopes)), float(slopes.max())
        flat, rates = slopes < VANISHED, contraction(weights, homes)
        blocks: list[Block] = [
            below([beside(panels[:2], gap=12), beside(panels[2:], gap=12)], gap=8),
            draw_raster(
                _painted(names),
                title=f"h ← tanh(W h): where each start ends ({len(homes)} attractor{'s' * (len(homes) > 1)})",
                name="",
                ends=("", ""),
                x_name="h₁",
                y_name="h₂",
                x_range=(-REACH, REACH),
                y_range=(-REACH, REACH),
                size=230,
                over={"_ends": Curve(homes[:, 0], homes[:, 1], "dots", "ink")},
            ),
            draw_raster(
                (logs - low) / ((high - low) or 1.0),
                title=f"‖∂h_T/∂h_1‖ by start, T = {options.steps}, log scale",
                name="",
                ends=(power_of_ten(low) if largest else "0", written(largest)),
                x_name="h₁",
                y_name="h₂",
                x_range=(-REACH, REACH),
                y_range=(-REACH, REACH),
                size=230,
                smooth=True,
            ),
            draw_raster(
                flat_after(weights, starts, options.steps) / options.steps,
                title=f"T from which it is below {VANISHED:g}",
                name="",
                ends=("1", f"not up to {options.steps}"),
                x_name="h₁",
                y_name="h₂",
                x_range=(-REACH, REACH),
                y_range=(-REACH, REACH),
                size=230,
                over={"_ends": Curve(homes[:, 0], homes[:, 1], "dots", "accent")},
            ),
        ]
        fixed = 1 - 1 / options.rate if options.rate > 1 else 0.0
        rows = [
            ("fixed point 1 − 1/r" if options.rate > 1 else "fixed point", fixed),
            ("|f′| there", abs(2 - options.rate) if options.rate > 1 else options.rate),
            ("largest slope after 1 iteration", max_slope(options.rate, x, 1)),
            (f"largest slope after {options.many}", max_slope(options.rate, x, options.many)),
            ("attractors of the network", len(homes)),
            ("median ‖∂h_T/∂h_1‖", inside),
            ("largest ‖∂h_T/∂h_1‖", largest),
            ("starts where it is flat, %", 100 * float(flat.mean())),
            *((f"‖∂h_{{t+1}}/∂h_t‖ at attractor {i + 1}", float(rate)) for i, rate in enumerate(rates)),
            *(
                (f"x where f{told} is flat, %", 100 * flat_share(options.rate, x, count))
                for count, told in ((1, ""), (options.many, f", {options.many} times,"))
            ),
        ]
        return LabResult(
            title="Attractors and their basins",
            see=f"{_of_curve(options, x)} {_of_network(len(homes), inside, largest)}{_of_flat(rates)}",
            blocks=blocks,
            table=(("", "value"), rows),
            numbers={
                "x": x,
                "iterated": {str(count): iterate(options.rate, x, count) for count in times},
                "attractors": homes,
                "basins": names,
                "gradient": slopes,
                "flat": flat,
                "contraction": rates,
                "flat_x": {str(count): flat_share(options.rate, x, count) for count in times},
            },
        )


def _of_curve(options: Any, x: Array) -> str:
    """f reaches r/4. Only above 1/2, where f has its maximum, does another iteration fold the curve again."""
    if options.rate > 2:
        return "Each further iteration folds the curve again, so its slopes grow."
    once, often = (written(max_slope(options.rate, x, count)) for count in (1, options.many))
    return (
        "With r ≤ 2 a further iteration does not fold the curve again: its largest slope is "
        f"{once} after one iteration and {often} after {options.many}."
    )


def _of_network(attractors: int, inside: float, largest: float) -> str:
    if attractors > 1 and inside < VANISHED and largest > 1:
        return (
            f"In the network the gradient has vanished inside a basin (median {written(inside)}) and is large only "
            f"on the boundaries between them (up to {written(largest)})."
        )
    shared = "all starts end at one attractor" if attractors == 1 else f"there are {attractors} attractors"
    return (
        f"In the network {shared}, and the gradient is at most {written(largest)} (median {written(inside)})."
    )


def _of_flat(rates: Array) -> str:
    if not len(rates) or rates.max() >= 1:
        return ""
    return (
        f" At the attractors each step shrinks a difference to {written(float(rates.max()))} of it or less."
    )


def iterate(rate: float, x: Array, count: int) -> Array:
    """f(f(… f(x))) of f(x) = r x (1 − x)."""
    for _ in range(count):
        x = rate * x * (1 - x)
    return x


def max_slope(rate: float, x: Array, count: int) -> float:
    """The largest |d f∘…∘f / dx| on the points."""
    return float(slope_at(rate, x, count).max())


def slope_at(rate: float, x: Array, count: int) -> Array:
    """|d f∘…∘f / dx| at each x, by the chain rule."""
    slope = np.ones_like(x)
    for _ in range(count):
        slope, x = slope * rate * (1 - 2 * x), rate * x * (1 - x)
    return np.abs(slope)


def flat_share(rate: float, x: Array, count: int) -> float:
    """The share of x at which f, iterated, is flat."""
    return float((slope_at(rate, x, count) < VANISHED).mean())


def contraction(weights: Array, homes: Array) -> Array:
    """(A,) the factor by which a difference shrinks or grows with each step at an attractor, a cycle's on average."""
    return np.asarray(follow(weights, homes, LONG + 1)[1] ** (1 / LONG))


def flat_after(weights: Array, starts: Array, steps: int) -> Array:
    """The first T at which ‖∂h_T/∂h_1‖ has vanished, from every start (…, 2); `steps` if it has not by then."""
    state, found = starts, np.full(starts.shape[:-1], steps)
    jacobian = np.broadcast_to(np.eye(2), (*starts.shape[:-1], 2, 2))
    for step in range(2, steps):
        state = np.tanh(state @ weights.T)
        jacobian = (1 - state**2)[..., None] * (weights @ jacobian)
        found = np.where((found == steps) & (_spectral(jacobian) < VANISHED), step, found)
    return found


def follow(weights: Array, starts: Array, steps: int) -> tuple[Array, Array]:
    """h_T from every start (…, 2), and the spectral norm of ∂h_T/∂h_1; T − 1 steps of tanh(W h)."""
    state = starts
    jacobian = np.broadcast_to(np.eye(2), (*starts.shape[:-1], 2, 2))
    for _ in range(steps - 1):
        state = np.tanh(state @ weights.T)
        jacobian = (1 - state**2)[..., None] * (weights @ jacobian)
    return state, _spectral(jacobian)


def _spectral(matrices: Array) -> Array:
    """The largest singular value of (…, 2, 2) matrices, in closed form from ‖A‖² and det A."""
    square = (matrices**2).sum((-2, -1))
    determinant = matrices[..., 0, 0] * matrices[..., 1, 1] - matrices[..., 0, 1] * matrices[..., 1, 0]
    return np.asarray(np.sqrt((square + np.sqrt(np.maximum(square**2 - 4 * determinant**2, 0))) / 2))


def basins(ends: Array) -> tuple[Array, Array]:
    """The attractor of each end point (…, 2), by number, and the attractors (A, 2), the most frequent first.

    Starts exactly on a boundary may end far from every attractor; such ends belong to the nearest."""
    flat = ends.reshape(-1, 2)
    found: list[Array] = []
    for candidate, count in zip(*np.unique(flat.round(2), axis=0, return_counts=True), strict=True):
        if count >= max(2, len(flat) // 500) and all(
            np.linalg.norm(candidate - other) > SAME for other in found
        ):
            found.append(candidate)
    homes = np.array(found if found else [flat.mean(0)])
    owner = np.linalg.norm(flat[:, None] - homes[None], axis=-1).argmin(1)
    order = np.argsort(-np.bincount(owner, minlength=len(homes)), kind="stable")
    homes = np.array([flat[np.linalg.norm(flat - homes[i], axis=1).argmin()] for i in order])
    return np.argsort(order)[owner].reshape(ends.shape[:-1]), homes


def _painted(names: Array) -> Array:
    """A color for each basin."""
    colors = [LIGHT.hex(series_color(i)) for i in range(8)]
    table = np.array([[int(one[i : i + 2], 16) for i in (1, 3, 5)] for one in colors], dtype=np.uint8)
    return np.asarray(table[names % 8])


def _iterated(rate: float, x: Array, count: int) -> Block:
    title = {1: "f(x)", 2: "f(f(x))", 3: "f(f(f(x)))"}.get(count, f"f, {count} times (red: flat)")
    y, flat = iterate(rate, x, count), slope_at(rate, x, count) < VANISHED
    flat[:-1] &= np.abs(np.diff(y)) < SAME  # no line from one flat piece to the next
    flat &= np.roll(flat, 1) | np.roll(flat, -1)
    return draw_plot(
        {"_f": Curve(x, y), "_flat": Curve(x, np.where(flat, y, np.nan), role="truth")},
        title=title,
        width=169,
        height=86,
        x_range=(0, 1),
        y_range=(0, 1),
    )
