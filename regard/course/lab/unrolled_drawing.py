"""Drawing of a recurrent network in time: inputs below, states in the middle, outputs above, arrows between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from regard.inspect.drawings.matrix import Matrix
from regard.inspect.layout import Block, below, flowing
from regard.inspect.palette import Over, Shade
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Circle, Group, Mark, Shape, Step, Text
from regard.inspect.wiring import arrow
from regard.trace import Array


@dataclass(frozen=True, eq=False)
class NetworkFrame:
    """One frame: which of the states and outputs are there.

    x                 (T, I), the numbers that each step reads
    states, outputs   how many are computed
    newest            which of them this frame computed
    loop              whether it is the network before it is unrolled
    labels            what is written at an arrow in place of the letter of its weight
    """

    told: str
    x: Array
    h: Array
    y: Array
    states: int
    outputs: int
    newest: Literal["", "state", "output"] = ""
    loop: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The rows of inputs: x, or x¹ and x²."""
        count = self.x.shape[1]
        return ("x",) if count == 1 else tuple(f"x{sign}" for sign in "¹²"[:count])

    @property
    def levels(self) -> tuple[str, ...]:
        """From top to bottom."""
        return ("ŷ", "h", *self.inputs)

    def label(self, level: str) -> str:
        """What is written at an arrow from an input (U), between states (W) or to an output (V)."""
        letter = {"h": "W", "ŷ": "V"}.get(level) or level.replace("x", "U")
        return self.labels.get(letter, letter)

    def value(self, level: str, t: int) -> float | None:
        """The number in a node; None if it is not computed yet."""
        if level in self.inputs:
            return float(self.x[t, self.inputs.index(level)])
        done = self.states if level == "h" else self.outputs
        return float((self.h if level == "h" else self.y)[t]) if t < done else None

    def is_new(self, level: str, t: int) -> bool:
        if level == "h":
            return self.newest == "state" and t == self.states - 1
        return level == "ŷ" and self.newest == "output" and t == self.outputs - 1


@dataclass(frozen=True)
class _Sizes:
    pitch: float
    rise: float
    radius: float
    font: float
    left: float


def draw_network(found: NetworkFrame) -> Block:
    """The frame with its numbers and the letters of the weights."""
    T = len(found.x)
    if found.loop:
        return _loop(found)
    sizes = _Sizes(min(82.0, (WIDTH - 40) / T), 74.0, 19.0, 12.0, 22.0)
    marks = _nodes(found, sizes, numbers=True)
    table = np.array(
        [[np.nan if (v := found.value(level, t)) is None else v for t in range(T)] for level in found.levels]
    )
    content = Matrix(
        found.levels, tuple(f"t={t + 1}" for t in range(T)), table, title=found.told, numbers=True, digits="{:.2f}",
        shades=np.nan_to_num(np.abs(table) / (float(np.nanmax(np.abs(table))) or 1.0)),
    )  # fmt: skip
    width = max(WIDTH, sizes.left + T * sizes.pitch)
    return Block((Group(tuple(marks), kind="network", content=content),), width, 2 * sizes.rise + 62)


def draw_film(frames: Sequence[NetworkFrame]) -> Block:
    """All frames small, three beside each other."""
    T = len(frames[0].x)
    sizes = _Sizes(min(22.0, 92 / T), 22.0, 5.5, 0.0, 8.0)
    cells = []
    for number, one in enumerate(frames, 1):
        marks: list[Mark] = [Text(0, 10, str(number), size=10, color="muted", bold=True)]
        marks.append(
            Group(tuple(_small_loop(one) if one.loop else _nodes(one, sizes, numbers=False)), dx=10, dy=2)
        )
        cells.append(Block(tuple(marks), 104.0, 64.0))
    film = flowing(cells, widest=WIDTH, gap=14, drop=12)
    heading = Block((Text(0, 12, f"{len(frames)} frames", size=13, bold=True),), 80, 18)
    whole = below([heading, film], gap=6)
    levels = frames[0].levels
    order = np.array([[_frame_of(frames, level, t) for t in range(T)] for level in levels], dtype=float)
    content = Matrix(
        levels, tuple(f"t={t + 1}" for t in range(T)), order, title="computed in frame", numbers=True, digits="{:.0f}",
        shades=order / len(frames),
    )  # fmt: skip
    return Block((Group(whole.marks, kind="film", content=content),), whole.width, whole.height)


def _frame_of(frames: Sequence[NetworkFrame], level: str, t: int) -> int:
    """The first frame in which a node has its value, after the loop."""
    return next(i for i, one in enumerate(frames, 1) if not one.loop and one.value(level, t) is not None)


def _nodes(found: NetworkFrame, sizes: _Sizes, *, numbers: bool) -> list[Mark]:
    T, inputs = len(found.x), found.inputs
    top = 30.0 if numbers else 10.0
    x = [sizes.left + (t + 0.5) * sizes.pitch for t in range(T)]
    y = {"ŷ": top, "h": top + sizes.rise} | dict.fromkeys(inputs, top + 2 * sizes.rise)
    beside = replace(
        sizes, radius=sizes.radius if len(inputs) == 1 else min(sizes.radius, sizes.pitch / 4 - 1)
    )
    aside = dict(
        zip(inputs, (0.0,) if len(inputs) == 1 else (-sizes.pitch / 4, sizes.pitch / 4), strict=True)
    )
    marks: list[Mark] = []

    def edge(level: str, x1: float, y1: float, x2: float, y2: float, *, new: bool) -> None:
        marks.extend(_edge(x1, y1, x2, y2, sizes, found.label(level) if numbers else "", new))

    for t in range(T):
        if found.value("h", t) is not None:
            for one in inputs:
                edge(one, x[t] + aside[one], y[one], x[t], y["h"], new=found.is_new("h", t))
            if t:
                edge("h", x[t - 1], y["h"], x[t], y["h"], new=found.is_new("h", t))
        if found.value("ŷ", t) is not None:
            edge("ŷ", x[t], y["h"], x[t], y["ŷ"], new=found.is_new("ŷ", t))
    for level in found.levels:
        size = beside if level in inputs else sizes
        for t in range(T):
            marks += _node(found, level, t, x[t] + aside.get(level, 0.0), y[level], size, numbers=numbers)
    if numbers:
        marks += [Text(0, y[level] + 4.5, level[0], size=14, italic=True) for level in ("ŷ", "h", inputs[0])]
        marks += [
            Text(
                x[t],
                y[inputs[0]] + sizes.radius + 16,
                f"t = {t + 1}",
                size=10.5,
                anchor="middle",
                color="muted",
            )
            for t in range(T)
        ]
    return marks


def _node(
    found: NetworkFrame, level: str, t: int, x: float, y: float, sizes: _Sizes, *, numbers: bool
) -> list[Mark]:
    value = found.value(level, t)
    if value is None:
        return [Circle(x, y, sizes.radius, fill=None, stroke="faint", stroke_width=1.0)]
    top = max(float(np.abs(found.x).max()), 1.0)
    shade = Shade(0.1 + 0.7 * min(1.0, abs(value) / top))
    new = found.is_new(level, t)
    ring = 2.5 if numbers else 1.75
    marks: list[Mark] = [
        Circle(
            x,
            y,
            sizes.radius,
            fill=shade,
            stroke="truth" if new else "muted",
            stroke_width=ring if new else 0.75,
        )
    ]
    if numbers:
        said = f"{value:.2f}".replace("-", "−")
        marks.append(
            Text(
                x, y + 4, said, size=min(sizes.font, sizes.radius * 0.62), anchor="middle", color=Over(shade)
            )
        )
    return marks


def _edge(x1: float, y1: float, x2: float, y2: float, sizes: _Sizes, letter: str, new: bool) -> list[Mark]:
    """An arrow from the rim of one node to the rim of another, with the letter of its weight beside it."""
    length = float(np.hypot(x2 - x1, y2 - y1))
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    ends = [
        (x1 + dx * (sizes.radius + 1), y1 + dy * (sizes.radius + 1)),
        (x2 - dx * (sizes.radius + 2), y2 - dy * (sizes.radius + 2)),
    ]
    color = "truth" if new else "muted"
    if not letter:
        line: tuple[Step, ...] = (("M", ends[0]), ("L", ends[1]))
        return [Shape(line, stroke=color, width=1.5 if new else 1.0)]
    middle = ((x1 + x2) / 2, (y1 + y2) / 2)
    at = (middle[0] - 4, middle[1] - 6) if dy == 0 else (middle[0] + (6 if dx <= 0 else -6), middle[1] + 4)
    return [
        *arrow(ends, False, color),
        Text(*at, letter, size=11, color=color, italic=True, anchor="end" if dx > 0 and dy else "start"),
    ]


def _loop(found: NetworkFrame) -> Block:
    """The network with its loop."""
    sizes = _Sizes(82.0, 74.0, 19.0, 12.0, 22.0)
    x, y = WIDTH / 2, {"ŷ": 30.0, "h": 104.0} | dict.fromkeys(found.inputs, 178.0)
    aside = dict(zip(found.inputs, (0.0,) if len(found.inputs) == 1 else (-24.0, 24.0), strict=True))
    marks: list[Mark] = [
        *(
            mark
            for one in found.inputs
            for mark in _edge(x + aside[one], y[one], x, y["h"], sizes, found.label(one), False)
        ),
        *_edge(x, y["h"], x, y["ŷ"], sizes, found.label("ŷ"), False),
        *_bow(x, y["h"], sizes.radius, 46.0),
        Text(x + 62, y["h"] + 4, found.label("h"), size=11, color="truth", italic=True),
    ]
    for level in found.levels:
        at = x + aside.get(level, 0.0)
        marks.append(Circle(at, y[level], sizes.radius, fill=Shade(0.15), stroke="muted"))
        marks.append(
            Text(at, y[level] + 5, level, size=14, italic=True, anchor="middle", color=Over(Shade(0.15)))
        )
    return Block((Group(tuple(marks), kind="network"),), WIDTH, 2 * sizes.rise + 62)


def _small_loop(found: NetworkFrame) -> list[Mark]:
    sizes = _Sizes(22.0, 22.0, 5.5, 0.0, 8.0)
    x, top, middle, low = 40.0, 10.0, 32.0, 54.0
    inputs = [x] if len(found.inputs) == 1 else [x - 7, x + 7]
    marks: list[Mark] = [mark for at in inputs for mark in _edge(at, low, x, middle, sizes, "", False)]
    marks += [*_edge(x, middle, x, top, sizes, "", False), *_bow(x, middle, 5.5, 18.0)]
    nodes = [*((at, low) for at in inputs), (x, middle), (x, top)]
    return [
        *marks,
        *(Circle(*one, 5.5, fill=Shade(0.15), stroke="muted", stroke_width=0.75) for one in nodes),
    ]


def _bow(x: float, y: float, radius: float, reach: float) -> list[Mark]:
    """An arrow from a node to itself, on its right."""
    side = radius * 0.6
    high = reach * 0.6
    steps: tuple[Step, ...] = (
        ("M", (x + radius * 0.8, y - side)),
        ("C", (x + reach, y - high, x + reach, y + high, x + radius * 0.8 + 2, y + side)),
    )
    tip: tuple[Step, ...] = (
        ("M", (x + radius * 0.8 + 1, y + side)),
        ("L", (x + radius * 0.8 + 7, y + side - 1)),
        ("L", (x + radius * 0.8 + 5, y + side + 5)),
        ("Z", ()),
    )
    return [
        Shape(steps, stroke="truth", width=1.6),
        Shape(tip, stroke=None, fill="truth"),
    ]
