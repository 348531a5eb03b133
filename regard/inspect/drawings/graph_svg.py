"""The marks of a graph: in layers from top to bottom if it has no cycle, else around a circle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from regard.inspect.handles import WeightHandle, WordHandle
from regard.inspect.layout import Block
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Group, Mark, Rect, Shape, Text
from regard.inspect.writing import shorten, text_width, visible
from regard.trace.edge_layers import edge_layers

if TYPE_CHECKING:
    from regard.inspect.drawings.graph import GraphAttention

Place = tuple[float, float]
SIZE, HIGH = 13.0, 26.0
STEP, GAP = 84.0, 26.0
LONGEST = 28
ARROW = 7.0


def draw_graph(shown: GraphAttention) -> Block:
    """The nodes as boxes, the edges as curves below them."""
    labels = [shorten(visible(node), LONGEST) for node in shown.nodes]
    wide = [max(text_width(label, SIZE) + 18, 34.0) for label in labels]
    level = edge_layers(len(labels), shown.edges)
    places = _around(wide) if level is None else _in_layers(level, wide, shown.edges)
    top = 24.0 if shown.title else 0.0
    shift_x = -min((x - w / 2 for (x, _), w in zip(places, wide, strict=True)), default=0.0) + 2
    shift_y = -min((y for _, y in places), default=0.0) + HIGH / 2 + top + 2
    places = [(x + shift_x, y + shift_y) for x, y in places]
    marks: list[Mark] = [Text(0, 12, shown.title, size=13, bold=True)] if shown.title else []
    marks += _edges(shown, places, wide)
    for place, label in enumerate(labels):
        marks += _node(shown, place, label, places[place], wide[place])
    width = max((x + w / 2 for (x, _), w in zip(places, wide, strict=True)), default=100.0)
    height = max((y for _, y in places), default=20.0) + HIGH / 2 + (18 if shown.words else 4)
    return Block((Group(tuple(marks), kind="graph", content=shown),), width + 14, height)


def _around(wide: Sequence[float]) -> list[Place]:
    """Around a circle, the first node at the top."""
    radius = max(84.0, sum(wide) / 4.6, len(wide) * 18.0)
    angles = [2 * math.pi * place / len(wide) for place in range(len(wide))]
    return [(1.25 * radius * math.sin(angle), -radius * math.cos(angle)) for angle in angles]


def _in_layers(
    level: Sequence[int], wide: Sequence[float], edges: Sequence[tuple[int, int, str]]
) -> list[Place]:
    """In layers; in each, a node stands near the nodes from which edges lead to it."""
    x = [0.0] * len(level)
    for depth in range(max(level, default=0) + 1):
        row = [place for place, one in enumerate(level) if one == depth]
        above = {
            place: [x[source] for source, target, _ in edges if target == place and level[source] < depth]
            for place in row
        }
        row.sort(key=lambda place: (sum(above[place]) / len(above[place]) if above[place] else 0.0, place))
        at = -(sum(wide[place] for place in row) + GAP * (len(row) - 1)) / 2
        for place in row:
            x[place] = at + wide[place] / 2
            at += wide[place] + GAP
    return [(x[place], depth * STEP) for place, depth in enumerate(level)]


def _edges(shown: GraphAttention, places: Sequence[Place], wide: Sequence[float]) -> list[Mark]:
    """Curves with arrows; edges between the same nodes in one direction share a curve."""
    together: dict[tuple[int, int], list[str]] = {}
    for source, target, relation in shown.edges:
        together.setdefault((source, target), []).append(relation)
    curves: list[Mark] = []
    names: list[Mark] = []
    for (source, target), relations in together.items():
        (x1, y1), (x2, y2) = places[source], places[target]
        if source == target:
            turn = (x1 + wide[source] / 2 + 12, y1 - 26)
            steps = (("M", (x1 + 4, y1 - HIGH / 2)), ("Q", (*turn, x1 + wide[source] / 2, y1)))
            curves.append(Shape(steps, stroke="muted", width=1.25))  # type: ignore[arg-type]
            middle = turn
        else:
            length = math.hypot(x2 - x1, y2 - y1) or 1.0
            away = 22.0 if (target, source) in together else 0.0
            bend = (
                (x1 + x2) / 2 - away * (y2 - y1) / length,
                (y1 + y2) / 2 + away * (x2 - x1) / length,
            )
            tip = _border(bend, (x2, y2), wide[target])
            curves.append(Shape((("M", (x1, y1)), ("Q", (*bend, *tip))), stroke="muted", width=1.25))
            curves.append(_arrow(bend, tip))
            middle = ((x1 + 2 * bend[0] + x2) / 4, (y1 + 2 * bend[1] + y2) / 4)
        told = ", ".join(visible(relation) for relation in relations if relation)
        if told:
            text = shorten(told, LONGEST)
            room = text_width(text, 10.5) + 4
            names.append(Rect(middle[0] - room / 2, middle[1] - 8, room, 14, fill="paper", opacity=0.85))
            names.append(Text(middle[0], middle[1] + 3, text, size=10.5, anchor="middle", color="muted"))
    return [*curves, *names]


def _border(start: Place, end: Place, wide: float) -> Place:
    """Where a line from `start` to the middle of a box meets the box."""
    dx, dy = start[0] - end[0], start[1] - end[1]
    scale = min(
        (wide / 2 + 2) / abs(dx) if dx else math.inf, (HIGH / 2 + 2) / abs(dy) if dy else math.inf, 1.0
    )
    return end[0] + dx * scale, end[1] + dy * scale


def _arrow(start: Place, tip: Place) -> Shape:
    dx, dy = tip[0] - start[0], tip[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    dx, dy = dx / length * ARROW, dy / length * ARROW
    back, side = (tip[0] - dx, tip[1] - dy), (-dy * 0.45, dx * 0.45)
    left, right = (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])
    return Shape((("M", tip), ("L", left), ("L", right), ("Z", ())), stroke=None, fill="muted")


def _node(shown: GraphAttention, place: int, label: str, at: Place, wide: float) -> list[Mark]:
    (x, y), weight = at, shown.looked_at(place)
    shade = Shade(weight) if shown.words else None
    true = shown.is_true(place)
    said = f"{visible(shown.nodes[place])}  {weight:.3f}" if shown.words else visible(shown.nodes[place])
    handle: WeightHandle | WordHandle | None = WordHandle(shown.over, place) if shown.over else None
    if len(shown.words) == 1:
        handle = shown.handle(0, place)
    marks: list[Mark] = [
        Rect(x - wide / 2, y - HIGH / 2, wide, HIGH, fill="paper" if shade is None else shade, radius=8,
             stroke="truth" if true else "muted", stroke_width=2.25 if true else 1.0, tip=said, at=handle,
             tags=(("node", str(place)),)),
        Text(x, y + 4.5, label, size=SIZE, anchor="middle", color="ink" if shade is None else Over(shade)),
    ]  # fmt: skip
    lookers = shorten(shown.lookers(place), 36) if len(shown.words) > 1 else ""
    if lookers:
        marks.append(Text(x, y + HIGH / 2 + 13, lookers, size=10.5, anchor="middle", color="accent"))
    return marks
