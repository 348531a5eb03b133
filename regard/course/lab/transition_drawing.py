"""Drawing of three steps of a recurrent network with several layers; the shortest path over time is marked."""

from __future__ import annotations

from itertools import pairwise

from regard.inspect.drawings.lines import Lines
from regard.inspect.layout import Block
from regard.inspect.palette import Over, Shade
from regard.inspect.plot import WIDTH
from regard.inspect.scene import Circle, Group, Mark, Shape, Text
from regard.inspect.wiring import arrow

RADIUS, SMALL = 13.0, 6.0
"""Radii of a state, input or output, and of a layer between them."""
PITCH, LEFT, TOP, RISE = 136.0, 40.0, 34.0, 34.0

Place = tuple[float, float, float]
"""x, y and radius of a node."""


def draw_kind(kind: str, told: str, layers: int, path: int, steps: int, *, shortcut: bool) -> Block:
    """One network: inputs below, outputs above, states from left to right.

    layers     from one state to the next; 1: two rows of states instead, one above the other
    path       layers on the shortest path from a state to the next
    shortcut   whether an arrow leads past these layers
    """
    stacked = layers == 1
    at = [LEFT + step * PITCH for step in range(steps)]
    rows = ("y", "h²", "h¹", "x") if stacked else ("y", "", "h", "", "x")
    height = {place: TOP + place * RISE for place in range(len(rows))}
    marks: list[Mark] = [Text(0, 13, f"{kind} {told}", size=13, bold=True)]
    nodes: list[tuple[Place, str]] = []
    for t, x in enumerate(at, 1):
        column = [(x, height[place], RADIUS if name else SMALL) for place, name in enumerate(rows)]
        nodes += [
            (node, f"{name}_{t}" if len(name) == 1 else f"{name[0]}_{t}{name[1:]}" if name else "")
            for node, name in zip(column, rows, strict=True)
        ]
        for lower, upper in zip(column[:0:-1], column[-2::-1], strict=True):
            marks += _edge(lower, upper, marked=False)
    states = [place for place, name in enumerate(rows) if name.startswith("h")]
    for before, after in pairwise(at):
        for place in states:
            way = [
                (before + (after - before) * layer / layers, height[place], SMALL)
                for layer in range(1, layers)
            ]
            whole = [(before, height[place], RADIUS), *way, (after, height[place], RADIUS)]
            nodes += [(node, "") for node in way]
            marked = not shortcut and place == states[-1]
            for one, other in pairwise(whole):
                marks += _edge(one, other, marked=marked)
            if shortcut:
                marks += _bow(whole[0], whole[-1])
    marks += [mark for node, name in nodes for mark in _node(node, name)]
    bottom = height[len(rows) - 1] + RADIUS + 17
    per = "1 layer" if path == 1 else f"{path} layers"
    said = f"shortest path from h_1 to h_{steps}: {steps - 1} × {per}"
    marks.append(Text(0, bottom, said, size=11.5, color="truth"))
    row = range((steps - 1) * layers + 1)
    ways = " → ".join("•" if place % layers else f"h_{1 + place // layers}" for place in row)
    lines = [(f"{kind} {told}", "ink"), (f"    {ways}", "ink")]
    lines += [("    h_1 ⟶ h_2 ⟶ h_3   past these layers", "truth")] if shortcut else []
    lines += [(f"    {said}", "truth")]
    return Block((Group(tuple(marks), kind="network", content=Lines(tuple(lines))),), WIDTH, bottom + 4)


def _edge(one: Place, other: Place, *, marked: bool) -> list[Mark]:
    """An arrow from the rim of one node to the rim of another."""
    (x1, y1, r1), (x2, y2, r2) = one, other
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    ends = [(x1 + dx * (r1 + 1), y1 + dy * (r1 + 1)), (x2 - dx * (r2 + 1), y2 - dy * (r2 + 1))]
    return arrow(ends, False, "truth" if marked else "muted")


def _bow(one: Place, other: Place) -> list[Mark]:
    """The shortcut: an arrow over the layers between two states."""
    (x1, y, radius), (x2, _, _) = one, other
    side = radius * 0.71 + 1
    high = y - 27
    start, end = (x1 + side, y - side), (x2 - side, y - side)
    curve = Shape((("M", start), ("C", (x1 + 40, high, x2 - 40, high, *end))), stroke="truth", width=1.4)
    return [curve, *arrow([(end[0] - 7, end[1] - 4.5), end], False, "truth")]


def _node(place: Place, name: str) -> list[Mark]:
    x, y, radius = place
    shade = Shade(0.1 if name else 0.35)
    marks: list[Mark] = [Circle(x, y, radius, fill=shade, stroke="muted", stroke_width=0.9)]
    if name:
        marks.append(Text(x, y + 4, name, size=10.5, anchor="middle", italic=True, color=Over(shade)))
    return marks
