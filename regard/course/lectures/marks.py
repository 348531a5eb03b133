"""What a drawing shows, read off its marks, for the Python code of entries: what its arrows join, and its pictures."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from math import hypot
from typing import Any, cast

import numpy as np
from PIL.Image import open as open_image

from regard.course.lectures.by_hand import Array
from regard.inspect.layout import Block
from regard.inspect.scene import Circle, Group, Image, Mark, Rect, Scene, Shape, Text

__all__ = ["drawn_arrows", "film_arrows", "network_arrows", "pictures", "shortest_ways", "wired_boxes"]

Point = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Placed = tuple[Mark, float, float]
"""A mark, and how far its group is shifted."""
NEAR = 8.0
"""The largest distance of the tip of an arrow from the end of its line."""


def network_arrows(figure: Scene) -> list[str]:
    """The arrows between the circles of a network drawn in time, sorted: "h_1 → h_2 W", with the letter beside each.
    A row of circles has its letter on the left or in them, a column its t below."""
    marks = list(_placed(_named(figure, "network").marks))
    texts = [(mark.text, (x + mark.x, y + mark.y)) for mark, x, y in marks if isinstance(mark, Text)]
    steps = [(one.removeprefix("t = "), at[0]) for one, at in texts if one.startswith("t = ")]
    letters = [(one, at) for one, at in texts if len(one) == 1]

    def name(node: Box) -> str:
        x, y = (node[0] + node[2]) / 2, (node[1] + node[3]) / 2
        row = min((abs(at[1] - 4.5 - y), at[0] != x, at[0], one) for one, at in letters)
        column = [f"_{t}" for t, at in steps if abs(at - x) < 1]
        return "".join([row[-1] if row[0] < 1 else "?", *column])

    def beside(path: Sequence[Point]) -> str:
        middle = (_mean(path, 0), _mean(path, 1))
        return " " + min((_far(at, middle), one) for one, at in letters)[1]

    return _joined(marks, {one: name(one) for one in _circles(marks)}, beside)


def drawn_arrows(block: Block) -> list[tuple[str, str, str]]:
    """The straight arrows of a network over time that a lab draws, with the letters beside them: from x1 to h1, U; of
    several inputs of a step, the left one first."""
    marks: list[Any] = [mark for group in block.marks for mark in cast(Any, group).marks]
    texts = [mark for mark in marks if isinstance(mark, Text)]
    rows = {mark.text: mark.y for mark in texts if mark.x == 0}
    columns = {mark.text.removeprefix("t = "): mark.x for mark in texts if mark.text.startswith("t = ")}

    def unit(place: tuple[float, float]) -> str:
        row = min(rows, key=lambda name: abs(rows[name] - 4 - place[1]))
        return row + min(columns, key=lambda t: abs(columns[t] - place[0]))

    found = []
    for mark in marks:
        if isinstance(mark, Shape) and [step[0] for step in mark.steps] == ["M", "L"]:
            begin, end = (cast(tuple[float, float], step[1]) for step in mark.steps)
            middle = np.mean([begin, end], 0)
            nearest = min(texts, key=lambda one: abs(one.x - middle[0]) + abs(one.y - middle[1]))
            found.append((unit(begin), unit(end), nearest.text))
    return found


def film_arrows(figure: Scene, rows: str = "ŷhx") -> list[list[str]]:
    """The arrows of each small frame of a film, which has no letters: "h_1 → h_2".

    rows   the letters of the rows of circles, from top to bottom; columns are counted, where there are several
    """
    found = []
    for frame in _groups(_named(figure, "film").marks):
        marks = list(_placed(frame.marks))
        circles = _circles(marks)
        tops, lefts = (sorted({round(one[side]) for one in circles}) for side in (1, 0))
        names = {one: rows[tops.index(round(one[1]))] for one in circles}
        if len(lefts) > 1:
            names = {one: f"{letter}_{lefts.index(round(one[0])) + 1}" for one, letter in names.items()}
        found.append(_joined(marks, names, lambda _: ""))
    return found


def shortest_ways(figure: Scene, first: str, last: str, *, marked: bool = False) -> list[int]:
    """Of each network in a figure, the arrows on the shortest way from a circle that says `first` to one that says
    `last`, which other signs may follow.

    marked   along the marked arrows alone
    """
    found = []
    for network in (mark for mark in figure.walk() if isinstance(mark, Group) and mark.kind == "network"):
        marks = list(_placed(network.marks))
        circles = _circles(marks)
        said = {one: str(place) for place, one in enumerate(circles)}
        for mark, x, y in marks:
            if isinstance(mark, Text):
                inside = [one for one in circles if not _from_box((x + mark.x, y + mark.y), one)]
                said.update(dict.fromkeys(inside, mark.text))
        lines = [
            (mark, x, y)
            for mark, x, y in marks
            if isinstance(mark, Shape) and (not marked or "truth" in (mark.stroke, mark.fill))
        ]
        pairs = [one.split(" → ") for one in _joined(lines, said, lambda _: "")]
        reached, steps = {one for one in said.values() if one.startswith(first)}, 0
        while not any(one.startswith(last) for one in reached):
            reached, steps = reached | {after for before, after in pairs if before in reached}, steps + 1
            if steps > len(pairs):
                raise ValueError(f"no way from {first} to {last}")
        found.append(steps)
    return found


def wired_boxes(figure: Scene, part: str = "rolled") -> list[str]:
    """The wires between the boxes of a network's drawing, sorted, by the first word of each box: "x_j → h_j", or
    "h_j ⇢ h_j" where the line is dashed.

    part   rolled, unrolled or inside
    """
    whole = _named(figure, part)
    boxes = {}
    for mark, x, y in _placed(whole.marks):
        if isinstance(mark, Group) and any(name == "unit" for name, _ in mark.tags):
            left, top = x + mark.dx, y + mark.dy
            word = next(one for one in mark.marks if isinstance(one, Text))
            sizes = [(one.width, one.height) for one in mark.marks if isinstance(one, Rect)]
            width, height = [*sizes, (2 * word.x, 2 * word.y)][0]  # three dots stand without a frame
            boxes[left, top, left + width, top + height] = word.text
    lines = [one for one in whole.marks if isinstance(one, Shape)]
    return _joined([(one, 0.0, 0.0) for one in lines], boxes, lambda _: "")


def pictures(scene: Scene) -> list[tuple[Array, list[Array]]]:
    """The images of a figure (R, C, 3), in its order, and beside each, for each word, how bright every pixel (R, C) of
    its copy is: 1 less the opacity of its veil."""

    def within(mark: Any) -> Iterator[Any]:
        yield mark
        for one in getattr(mark, "marks", ()):
            yield from within(one)

    def drawn(mark: Any) -> list[Array]:
        images = [one.png for one in within(mark) if isinstance(one, Image)]
        return [np.asarray(open_image(io.BytesIO(one)).convert("RGBA")) for one in images]

    def looks(mark: Any) -> list[Array]:
        veils = [drawn(one)[1] for one in within(mark) if getattr(one, "kind", "") == "look"]
        return [1 - veil[..., -1] / 255 for veil in veils]

    found = [one for one in within(scene) if getattr(one, "kind", "") == "picture"]
    return [(drawn(one)[0][..., :3], looks(one)) for one in found]


def _joined(
    marks: Sequence[Placed], nodes: dict[Box, str], beside: Callable[[Sequence[Point]], str]
) -> list[str]:
    """Each open line as "from → to"; the tip of an arrow, where it has one, tells its end."""
    shapes = [(mark, x, y) for mark, x, y in marks if isinstance(mark, Shape)]
    paths = [
        (one, [(x + at[i], y + at[i + 1]) for _, at in one.steps for i in range(0, len(at), 2)])
        for one, x, y in shapes
    ]
    tips = [path[0] for one, path in paths if one.steps[-1][0] == "Z" and len(path) == 3]

    def node(point: Point) -> str:
        return nodes[min(nodes, key=lambda box: _from_box(point, box))]

    def tip(end: Point) -> Point | None:
        near = [(_far(one, end), one) for one in tips if _far(one, end) < NEAR]
        return min(near)[1] if near else None

    found = []
    for one, path in paths:
        if one.steps[-1][0] != "Z":
            way = path[::-1] if tip(path[0]) and not tip(path[-1]) else path
            arrow = "⇢" if one.dashes else "→"
            found.append(f"{node(way[0])} {arrow} {node(tip(way[-1]) or way[-1])}{beside(path)}")
    return sorted(found)


def _named(figure: Scene, kind: str) -> Group:
    """The first group of a kind."""
    return next(mark for mark in figure.walk() if isinstance(mark, Group) and mark.kind == kind)


def _placed(marks: Sequence[Mark], x: float = 0.0, y: float = 0.0) -> Iterator[Placed]:
    for mark in marks:
        yield mark, x, y
        if isinstance(mark, Group):
            yield from _placed(mark.marks, x + mark.dx, y + mark.dy)


def _groups(marks: Sequence[Mark]) -> Iterator[Group]:
    """The groups that hold circles themselves."""
    for mark in marks:
        if isinstance(mark, Group):
            if any(isinstance(one, Circle) for one in mark.marks):
                yield mark
            yield from _groups(mark.marks)


def _circles(marks: Sequence[Placed]) -> list[Box]:
    found = [(x + one.x, y + one.y, one.radius) for one, x, y in marks if isinstance(one, Circle)]
    return [(x - radius, y - radius, x + radius, y + radius) for x, y, radius in found]


def _far(one: Point, other: Point) -> float:
    return hypot(one[0] - other[0], one[1] - other[1])


def _from_box(point: Point, box: Box) -> float:
    """The distance of a point from a box; 0 inside."""
    (x, y), (left, top, right, bottom) = point, box
    return hypot(max(left - x, 0.0, x - right), max(top - y, 0.0, y - bottom))


def _mean(path: Sequence[Point], axis: int) -> float:
    return sum(one[axis] for one in path) / len(path)
