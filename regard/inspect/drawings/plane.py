"""Points in the plane and the figure an output forms: a polygon, a tour, triangles, or a path.

Points are numbered and shaded by their largest pointer weight. The predicted figure is drawn through them. The true
figure, if known and different, is dashed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from rich.text import Text as Line

from regard.inspect.drawings.drawing import PLAIN, View
from regard.inspect.drawings.input_attention import InputAttention
from regard.inspect.handles import WordHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Color, Shade
from regard.inspect.scene import Circle, Group, Mark, Rect, Shape, Step, Text
from regard.inspect.writing import text_width
from regard.parts import register
from regard.trace import Array, Pointed, SeenPoints, Trace, written

if TYPE_CHECKING:
    from regard.inspect.terminal.ink import Ink

SIDE, SMALL_SIDE = 360.0, 170.0
WIDEST, HIGHEST = 48, 20
"""Columns and lines in the terminal."""
MARGIN = 26.0
"""Margin around the points, for their numbers."""

Place = tuple[float, float]


@register("drawing", "plane")
@dataclass(frozen=True, eq=False, kw_only=True)
class PlaneAttention(InputAttention):
    """Points in the plane (S, 2), the pointer weights of each piece, and the figures they form.

    places   the points of the prediction, from 0; `true_places` are those of the truth, if known
    form     the figure: a "sequence", a closed "polygon" or "tour", or "triangles"
    """

    rank: ClassVar[int] = 96
    traced = SeenPoints

    points: Array
    places: tuple[int, ...] = ()
    true_places: tuple[int, ...] | None = None
    form: str = "sequence"

    @property
    def right(self) -> bool:
        """Whether the prediction equals the truth, as written."""
        return self.true_places == self.places

    def pointed_at(self, point: int) -> float:
        """Between 0 and 1: the largest pointer weight of a point."""
        return float(np.nan_to_num(self.weights[:, point]).max(initial=0.0))

    @classmethod
    def of(cls, trace: Trace, name: str, view: View = PLAIN) -> PlaneAttention:
        what: Any = trace.seen[name]
        pointed = trace.pointed.get(name, Pointed(()))
        true = None if pointed.truth is None else tuple(pointed.truth)
        return cls(
            points=what.points,
            places=tuple(pointed.places),
            true_places=true,
            form=pointed.form,
            **cls.weighted(trace, name, view),
        )

    @classmethod
    def replaces(cls, trace: Trace, name: str) -> Sequence[str]:
        """The attention of each piece is also drawn as a matrix."""
        return ("structures",)

    def block(self) -> Block:
        return _draw(self)

    @classmethod
    def legend(cls, shown: Sequence[PlaneAttention]) -> list[Block]:
        attended = [attention for attention in shown if attention.words]
        return [_legend(attended)] if attended else []

    def terminal(self, width: int, ink: Ink) -> Iterator[Line]:
        return _lines(self, width, ink)

    def description(self) -> str:
        count = len(self.points)
        if not self.places:
            return f"{count} points in the plane."
        named = written(self.places, self.form)
        known = ""
        if self.true_places is not None:
            right, true = self.right, written(self.true_places, self.form)
            known = ", as in truth" if right else f"; in truth, {true}"
        what = {"sequence": "a path", "polygon": "a polygon", "tour": "a tour"}.get(self.form, "triangles")
        return f"{count} points in the plane, and {what} through points {named}{known}."


def _draw(attention: PlaneAttention) -> Block:
    """The plane, with y upward; its baseline is the upper edge."""
    side = SMALL_SIDE if attention.small else SIDE
    top = 24.0 if attention.title else 0.0
    width, height, places = _laid(attention, side)
    places = [(x, y + top) for x, y in places]
    marks: list[Mark] = [Text(0, 12, attention.title, size=13, bold=True)] if attention.title else []
    marks.append(Rect(0.5, top + 0.5, width - 1, height - 1, stroke="faint", radius=4))
    if attention.true_places is not None and not attention.right:
        marks += _figure(attention.true_places, attention.form, places, color="truth", dashes=(5.0, 4.0))
    marks += _figure(attention.places, attention.form, places, color="accent", fill=True)
    first = attention.places[0] if attention.places and attention.form != "triangles" else None
    for number, (x, y) in enumerate(places):
        share = attention.pointed_at(number)
        tip = f"point {number + 1}  ({attention.points[number, 0]:g}, {attention.points[number, 1]:g})  {share:.2f}"
        radius = 4.0 if attention.small else 5.5
        at = WordHandle(attention.over, number) if attention.over else None
        marks.append(Circle(x, y, radius, fill=Shade(share), stroke="ink", stroke_width=1.0, tip=tip, at=at))
        if number == first:
            marks.append(Circle(x, y, radius + 3.5, fill=None, stroke="accent", stroke_width=1.5))
        beyond = _outwards(places, number)
        size = 9.5 if attention.small else 12.0
        marks.append(
            Text(
                x + 13 * beyond[0], y + 13 * beyond[1] + size / 3, str(number + 1), size=size, anchor="middle"
            )
        )
    group = Group(tuple(marks), kind="plane", content=attention)
    return Block((group,), max(width, text_width(attention.title, 15)), top + height, baseline=top)


def _laid(attention: PlaneAttention, side: float) -> tuple[float, float, list[Place]]:
    """Width, height, and the position of each point, with the same scale on both axes."""
    points = attention.points
    low, high = points.min(0), points.max(0)
    extent = np.maximum(high - low, 1e-12)
    scale = (side - 2 * MARGIN) / float(extent.max())
    width, height = (max(float(length) * scale + 2 * MARGIN, side / 2) for length in extent)
    middle = (low + high) / 2
    offsets = (points - middle) * scale
    return width, height, [(width / 2 + float(x), height / 2 - float(y)) for x, y in offsets]


def _outwards(places: Sequence[Place], number: int) -> Place:
    """The direction away from the nearest other points, in which to place a point's number."""
    x, y = places[number]
    pull = np.zeros(2)
    for other, (a, b) in enumerate(places):
        if other != number:
            away = np.array([x - a, y - b])
            pull += away / max(float((away**2).sum()), 1.0)
    norm = float(np.hypot(*pull))
    return (0.0, -1.0) if norm < 1e-9 else (float(pull[0] / norm), float(pull[1] / norm))


def _figure(
    chosen: Sequence[int],
    form: str,
    places: Sequence[Place],
    *,
    color: Color,
    dashes: tuple[float, ...] = (),
    fill: bool = False,
) -> list[Mark]:
    """A path for each component of the figure."""
    if form == "triangles":
        pieces = [chosen[low : low + 3] for low in range(0, len(chosen), 3)]
    else:
        pieces = [chosen]
    closed = form != "sequence"
    marks: list[Mark] = []
    for piece in pieces:
        if len(piece) < 2:
            continue
        steps: list[Step] = [("L" if at else "M", places[point]) for at, point in enumerate(piece)]
        if closed and len(piece) > 2:
            steps.append(("Z", ()))
            if fill and form != "tour":
                marks.append(Shape(tuple(steps), stroke=None, fill=color, opacity=0.13))
        marks.append(Shape(tuple(steps), stroke=color, width=1.75, dashes=dashes))
    return marks


def _legend(shown: Sequence[PlaneAttention]) -> Block:
    """The legend of shades and lines."""
    scale = color_scale(name="pointed at", limit=1.0)
    marks, x = list(scale.marks), scale.width
    lines: list[tuple[str, Color, tuple[float, ...]]] = [("answer", "accent", ())]
    if any(attention.true_places is not None and not attention.right for attention in shown):
        lines.append(("truth", "truth", (5.0, 4.0)))
    for name, color, dashes in lines:
        x += 20
        marks.append(Shape((("M", (x, 5)), ("L", (x + 22, 5))), stroke=color, width=1.75, dashes=dashes))
        marks.append(Text(x + 28, 9, name, size=11, color="muted"))
        x += 28 + text_width(name, 11)
    return Block(tuple(marks), x, 11.0)


def _lines(attention: PlaneAttention, width: int, ink: Ink) -> Iterator[Line]:
    """The points in lines of at most `width` cells; a character is about twice as high as wide."""
    if attention.title:
        yield Line(attention.title, style=ink.style("ink", bold=True))
    columns, lines = max(8, min(width, WIDEST)), HIGHEST
    low, high = attention.points.min(0), attention.points.max(0)
    extent = np.maximum(high - low, 1e-12)
    room = columns - len(str(len(attention.points))) - 2
    scale = min(room / extent[0], 2 * (lines - 1) / extent[1])
    rows: dict[int, dict[int, int]] = {}
    for number, (x, y) in enumerate(attention.points):
        line = round((high[1] - y) * scale / 2)
        rows.setdefault(int(line), {})[round(float((x - low[0]) * scale))] = number
    chosen = set(attention.places)
    for line in range(max(rows) + 1):
        drawn, at = Line(no_wrap=True, overflow="crop"), 0
        for column, number in sorted(rows.get(line, {}).items()):
            name = str(number + 1)
            if number in chosen and not ink.color:
                name = f"({name})"
            drawn.append(" " * max(0, column - at))
            at = max(at, column) + len(name)
            drawn.append(name, style=ink.on(1.0) if number in chosen else ink.style("muted"))
        yield drawn
    yield Line()
    yield Line(f"{attention.form}: {written(attention.places, attention.form)}", overflow="fold")
    if attention.true_places is not None and not attention.right:
        yield Line(
            f"truth: {written(attention.true_places, attention.form)}",
            style=ink.style("truth"),
            overflow="fold",
        )
