"""The two rules of Eisner's algorithm as shapes: a trapezoid is two triangles and an arc, a triangle a trapezoid and a
triangle."""

from __future__ import annotations

from regard.inspect.layout import Block
from regard.inspect.palette import Shade
from regard.inspect.scene import Group, Mark, Shape, Step, Text

HIGH, LOW = 30.0, 12.0
BASE = 40.0
"""y of the words below the shapes."""


def draw_key() -> Block:
    """Both rules side by side, with the names of the ends below."""
    marks: list[Mark] = []
    marks += [*_trapezoid(6, 66), *_text(36, "incomplete"), *_ends(6, 66, "h", "m"), *_sign(86, "=")]
    marks += [
        *_triangle(104, 134, head="left"),
        *_triangle(140, 170, head="right"),
        *_ends(104, 170, "h", "m"),
    ]
    marks += [_arc(104, 170), Text(137, 67, "two triangles, an arc", size=10, color="muted", anchor="middle")]
    marks += [
        *_triangle(204, 254, head="left"),
        *_text(229, "complete"),
        *_ends(204, 254, "h", "e"),
        *_sign(272, "="),
    ]
    marks += [*_trapezoid(288, 322), *_triangle(326, 356, head="left"), *_ends(288, 356, "h", "e")]
    marks.append(Text(324, BASE + 11, "m", size=10, anchor="middle", italic=True))
    return Block((Group(tuple(marks), kind="key"),), 362.0, 70.0)


def _triangle(x: float, end: float, *, head: str) -> list[Mark]:
    """A complete span: high at its head."""
    tall = x if head == "left" else end
    steps: tuple[Step, ...] = (
        ("M", (x, BASE)), ("L", (tall, BASE - HIGH)), ("L", (end, BASE)), ("Z", ()),
    )  # fmt: skip
    return [Shape(steps, stroke="accent", width=1.5, fill=Shade(0.15))]


def _trapezoid(x: float, end: float) -> list[Mark]:
    """An incomplete span: high at its head, cut at its other end."""
    steps: tuple[Step, ...] = (
        ("M", (x, BASE)), ("L", (x, BASE - HIGH)), ("L", (end, BASE - LOW)), ("L", (end, BASE)), ("Z", ()),
    )  # fmt: skip
    return [Shape(steps, stroke="accent", width=1.5, fill=Shade(0.15))]


def _arc(x: float, end: float) -> Shape:
    y = BASE - HIGH - 2
    return Shape((("M", (x, y)), ("Q", ((x + end) / 2, y - 16, end, y))), stroke="truth", width=1.75)


def _ends(x: float, end: float, first: str, last: str) -> list[Mark]:
    return [
        Text(place, BASE + 11, name, size=10, anchor="middle", italic=True)
        for place, name in ((x, first), (end, last))
    ]


def _text(x: float, name: str) -> list[Mark]:
    return [Text(x, 67, name, size=10, color="muted", anchor="middle")]


def _sign(x: float, sign: str) -> list[Mark]:
    return [Text(x, BASE - 6, sign, size=13, anchor="middle", color="muted")]
