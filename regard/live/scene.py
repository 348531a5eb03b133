"""A scene as JSON: the marks of a figure for a page that draws them itself.

Python lays a figure out once, and the page draws the same marks. So every drawing is alive, also one of a plug-in.
Keys are short because a figure has thousands of marks. A key is left out where it has its default.

| mark | keys |
|---|---|
| rect | `x y w h r` (radius) |
| text | `x y t` (text) `s` (size) `a` (anchor as in SVG) `turn` (degrees) `b i mono` `len` (width) `rtl` |
| shape | `d` (path) `dash` |
| circle | `x y r` |
| image | `x y w h src` (place in `images` of the scene) `sharp` |
| group | `marks dx dy k` (kind) `cells after` (marks behind the cells) |

`cells` are equal squares in a row, as in a large heatmap, of which the page makes a `rect` each: `x y p` (pitch) `s`
(side) `r` `rtl` (first on the right) `edge` (of empty ones) `input step row` (label) `cols` (place in `labels` of the
scene) `v` (weights) `f` (levels of fill, 0 to 100) `n` (the weights in words) `true` (columns with an outline, which
means `told`).

All have `fill`, `stroke` (names in `colors` of the scene), `sw` (stroke width), `o` (opacity), `tip`, `at` or `tags`.
"""

from __future__ import annotations

import base64
import math
from functools import lru_cache
from typing import Any

from regard.inspect.cells import CellRow, WeightSquares
from regard.inspect.palette import DARK, LEVELS, LIGHT, Color, Over, Shade
from regard.inspect.scene import Circle, Group, Image, Mark, Rect, Scene, Shape, Text
from regard.inspect.writing import right_to_left
from regard.reporting.terminal import printable

Json = dict[str, Any]


def scene_json(scene: Scene) -> Json:
    """The scene as plain data: its size, words, marks, images as data URLs, and every color for light and dark."""
    page = _Page()
    marks = [page.mark(mark) for mark in scene.marks]
    found: Json = {
        "width": _round(scene.width),
        "height": _round(scene.height),
        "title": _printable(scene.title),
        "description": _printable(scene.description),
        "colors": dict(sorted(page.colors.items())),
        "marks": marks,
    }
    if page.labels:
        found["labels"] = [[_printable(one) for one in some] for some in page.labels]
    if page.images:
        found["images"] = [
            "data:image/png;base64," + base64.b64encode(png).decode("ascii") for png in page.images
        ]
    return found


class _Page:
    """The colors and the images that marks name."""

    def __init__(self) -> None:
        self.colors: dict[str, list[str]] = {}
        self.images: dict[bytes, int] = {}
        self.labels: dict[tuple[str, ...], int] = {}

    def mark(self, mark: Mark) -> Json:
        found = self._shape(mark)
        if not isinstance(mark, Group) and mark.opacity < 1:
            found["o"] = _round(mark.opacity)
        if mark.tip:
            found["tip"] = _printable(mark.tip)
        if mark.tags and mark.at is None:
            found["tags"] = {name: _printable(value) for name, value in mark.tags}
        if mark.at is not None:
            found["at"] = mark.at.to_dict()
        return found

    def _shape(self, mark: Mark) -> Json:
        match mark:
            case Rect():
                box: Json = {"m": "rect", **_box(mark)}
                if mark.radius:
                    box["r"] = _round(mark.radius)
                return self._paint(box, mark.fill, mark.stroke, mark.stroke_width)
            case Text():
                return self._text(mark)
            case Shape():
                steps = "".join(
                    letter + " ".join(str(_round(number)) for number in numbers)
                    for letter, numbers in mark.steps
                )
                dashes = {"dash": [_round(one) for one in mark.dashes]} if mark.dashes else {}
                return self._paint({"m": "shape", "d": steps, **dashes}, mark.fill, mark.stroke, mark.width)
            case Circle():
                place: Json = {
                    "m": "circle",
                    "x": _round(mark.x),
                    "y": _round(mark.y),
                    "r": _round(mark.radius),
                }
                return self._paint(place, mark.fill, mark.stroke, mark.stroke_width)
            case Image():
                source = self.images.setdefault(mark.png, len(self.images))
                sharp = {} if mark.smooth else {"sharp": 1}
                return {"m": "image"} | _box(mark) | {"src": source} | sharp
            case Group():
                return self._group(mark)

    def _text(self, mark: Text) -> Json:
        found: Json = {"m": "text", "x": _round(mark.x), "y": _round(mark.y), "t": _printable(mark.text)}
        found["s"] = _round(mark.size)
        anchor = mark.anchor
        if right_to_left(mark.text):
            # In SVG, "start" is where reading starts, the right end for these scripts. The anchor of a mark is visual.
            anchor = {"start": "end", "end": "start", "middle": "middle"}[anchor]  # type: ignore[assignment]
            found["rtl"] = 1
        if anchor != "start":
            found["a"] = anchor
        for key, given in (("turn", mark.rotate), ("len", mark.fills)):
            found |= {key: _round(given)} if given else {}
        for key, set_ in (("b", mark.bold), ("i", mark.italic), ("mono", mark.mono)):
            found |= {key: 1} if set_ else {}
        return self._paint(found, mark.color, None, 0)

    def _group(self, mark: Group) -> Json:
        found: Json = {"m": "group"}
        for key, given in (("dx", mark.dx), ("dy", mark.dy)):
            found |= {key: _round(given)} if given else {}
        found |= {"k": mark.kind} if mark.kind else {}
        if isinstance(mark.marks, CellRow):
            row = mark.marks
            found |= {"marks": [self.mark(one) for one in row.before], "cells": self._cells(row.cells)}
            return found | ({"after": [self.mark(one) for one in row.after]} if row.after else {})
        return found | {"marks": [self.mark(one) for one in mark.marks]}

    def _cells(self, cells: WeightSquares) -> Json:
        for level in set(cells.levels):
            self._color(Shade(level / LEVELS))
        found: Json = {"x": _round(cells.x), "y": _round(cells.y), "p": _round(cells.pitch)}
        found["s"] = _round(cells.side)
        found |= {"r": _round(cells.radius)} if cells.radius else {}
        found |= {key: 1 for key, is_so in (("rtl", cells.mirrored), ("edge", cells.edged)) if is_so}
        if 0 in cells.values:
            self._color("paper")
            self._color("faint")
        found |= {"input": cells.input, "step": cells.step, "row": _printable(cells.row)}
        found["cols"] = self.labels.setdefault(cells.columns, len(self.labels))
        found["v"] = [round(value, 4) for value in cells.values]
        found |= {"f": cells.levels, "n": cells.numbers}
        return found | ({"true": cells.true, "told": _printable(cells.outlined)} if cells.true else {})

    def _paint(self, found: Json, fill: Color | None, stroke: Color | None, width: float) -> Json:
        if fill is not None:
            found["fill"] = self._color(fill)
        if stroke is not None:
            found["stroke"] = self._color(stroke)
            found["sw"] = _round(width)
        return found

    def _color(self, color: Color) -> str:
        match color:
            case Shade():
                name = f"v{color.level}"
            case Over():
                name = f"o{color.shade.level}"
            case _:
                name = color
        if name not in self.colors:
            self.colors[name] = [LIGHT.hex(color), DARK.hex(color)]
        return name


def _box(mark: Rect | Image) -> Json:
    return {"x": _round(mark.x), "y": _round(mark.y), "w": _round(mark.width), "h": _round(mark.height)}


@lru_cache(maxsize=8192)
def _round(number: float) -> float:
    """To 0.01; a whole number stays short, and what is no number is 0."""
    if not math.isfinite(number):
        return 0
    rounded = round(float(number), 2)
    return int(rounded) if rounded.is_integer() else rounded


def _printable(text: str) -> str:
    """Without control characters and direction overrides; the line breaks of tips stay."""
    return printable(text, "\n")
