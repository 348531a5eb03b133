"""Boxes: the layout of formulas by the rules of TeX, in whole pixels.

A box has a width, a height above its baseline and a depth below it; y grows downward and is 0 at the baseline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from regard.worlds.formulas.typeface import Glyph, Ink, Typeface


@dataclass(frozen=True)
class Mark:
    """Ink with its upper left corner at (x, y), drawn for a token of the formula."""

    token: int
    ink: Ink
    x: int
    y: int


@dataclass(frozen=True)
class Box:
    width: int
    above: int
    below: int
    marks: tuple[Mark, ...]

    def moved(self, x: int, y: int) -> tuple[Mark, ...]:
        return tuple(replace(mark, x=mark.x + x, y=mark.y + y) for mark in self.marks)

    @property
    def height(self) -> int:
        return self.above + self.below


def symbol(token: int, glyph: Glyph) -> Box:
    mark = Mark(token, glyph.ink, 0, -glyph.above)
    return Box(glyph.width, glyph.above, max(glyph.below, 0), (mark,))


def row(boxes: Sequence[Box], gaps: Sequence[int]) -> Box:
    """Boxes side by side on a common baseline, with gaps[i] pixels before box i."""
    marks: list[Mark] = []
    x = 0
    for box, gap in zip(boxes, gaps, strict=True):
        marks += box.moved(x + gap, 0)
        x += gap + box.width
    return Box(x, max(box.above for box in boxes), max(box.below for box in boxes), tuple(marks))


def scripts(base: Box, below: Box | None, above: Box | None, size: int) -> Box:
    """A box with a subscript and a superscript to its right."""
    marks, width, top, bottom = list(base.marks), 0, base.above, base.below
    for box, shift in ((below, size // 3), (above, -(size // 2))):
        if box is None:
            continue
        if shift > 0:
            y = max(shift, base.below - 1) if above is None else max(shift, box.above - 1)
        else:
            y = min(shift, 3 - base.above)
        marks += box.moved(base.width + 1, y)
        width, top, bottom = max(width, 1 + box.width), max(top, box.above - y), max(bottom, box.below + y)
    return Box(base.width + width, top, bottom, tuple(marks))


def limits(base: Box, below: Box, above: Box) -> Box:
    """A box with limits below and above it, as for a sum."""
    width = max(base.width, below.width, above.width)
    under, over = base.below + 1 + below.above, base.above + 1 + above.below
    marks = (
        *base.moved((width - base.width) // 2, 0),
        *below.moved((width - below.width) // 2, under),
        *above.moved((width - above.width) // 2, -over),
    )
    return Box(width, over + above.above, under + below.below, marks)


def fraction(token: int, top: Box, bottom: Box, size: int) -> Box:
    """A fraction. Its bar, drawn for the token, is at the height of a minus sign of this size."""
    width, axis = max(top.width, bottom.width) + 2, -(size // 3)
    up, down = axis - 2 - top.below, axis + 3 + bottom.above
    marks = (
        Mark(token, np.full((1, width), 255, dtype=np.uint8), 0, axis),
        *top.moved((width - top.width) // 2, up),
        *bottom.moved((width - bottom.width) // 2, down),
    )
    return Box(width, top.above - up, down + bottom.below, marks)


def root(token: int, inside: Box, typeface: Typeface) -> Box:
    """A root sign as high as its content, with a line over it."""
    above, height = inside.above + 2, inside.height + 2
    sign = typeface.stretched("√", height, 5 + height // 6)
    ink = np.zeros((height, sign.shape[1] + inside.width + 1), dtype=np.uint8)
    ink[:, : sign.shape[1]] = sign
    ink[0, sign.shape[1] - 1 :] = 255
    marks = (Mark(token, ink, 0, -above), *inside.moved(sign.shape[1], 0))
    return Box(ink.shape[1], above, inside.below, marks)


def painted(box: Box, height: int, width: int) -> Ink:
    """The box at the left of a canvas, vertically centered, black on white."""
    canvas = np.zeros((height, width), dtype=np.uint8)
    left, baseline = origin(box, height)
    for mark in box.marks:
        x, y = left + mark.x, baseline + mark.y
        patch = canvas[y : y + mark.ink.shape[0], x : x + mark.ink.shape[1]]
        np.maximum(patch, mark.ink, out=patch)
    return 255 - canvas


def origin(box: Box, height: int) -> tuple[int, int]:
    """The left edge and the baseline of the box on the canvas."""
    return 2, (height - box.height) // 2 + box.above
