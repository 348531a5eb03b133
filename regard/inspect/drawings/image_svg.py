"""The marks of an image with attention: the image first, then once more for every word.

As in Show, Attend and Tell (Xu et al. 2015). The image is dimmed by a veil, transparent where the word attends:
smoothed between the cells of the grid, or cell by cell. The true region is outlined, if known: by its box, or by the
cells that it contains.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from regard.inspect.handles import PieceHandle, PlaneHandle
from regard.inspect.layout import BOLDER, Block
from regard.inspect.raster import VEIL, bounded, cell_veil, png, veil, veil_gray
from regard.inspect.scene import Group, Image, Mark, Rect, Shape, Step, Text
from regard.inspect.writing import is_special, text_width, visible, wrap

if TYPE_CHECKING:
    from regard.inspect.drawings.image import ImageAttention

WIDEST = 880.0
"""Width of a row of images."""
LONGEST = 320
"""Longer side of an image in a file, in pixels."""
VEIL_PIXELS = 48
"""Longer side of a smoothed veil, in pixels; the renderer interpolates further."""
CELLS_UP_TO = 1500
"""Maximum number of cells of all words that are drawn separately, with their weights; with more, files grow large."""
GAP = 14.0
LINE = 20.0
"""Height of a word above its image."""


@dataclass(frozen=True)
class _Plan:
    """Images of width × height, `across` in a row, each below a line for the word."""

    width: float
    height: float
    across: int
    line: float = LINE


def draw_image(attention: ImageAttention) -> Block:
    """The images as a block; its baseline is the upper edge of the first image."""
    plan = _plan(attention)
    top = 24.0 if attention.title else 0.0
    marks: list[Mark] = [Text(0, 12, attention.title, size=13, bold=True)] if attention.title else []
    shared = png(bounded(attention.pixels, LONGEST))
    gray = veil_gray(attention.pixels)
    high = plan.height + plan.line + GAP
    panels = [_panel(attention, None, plan, shared, gray)]
    panels += [_panel(attention, word, plan, shared, gray) for word in range(len(attention.words))]
    for place, panel in enumerate(panels):
        row, column = divmod(place, plan.across)
        kind, tags = ("look", (("word", str(place - 1)),)) if place else ("seen", ())
        marks.append(
            Group(tuple(panel), dx=column * (plan.width + GAP), dy=top + row * high, kind=kind, tags=tags,
                  tip=image_tip(attention, place - 1) if place else "")
        )  # fmt: skip
    rows = -(-len(panels) // plan.across)
    width = max(min(len(panels), plan.across) * (plan.width + GAP) - GAP, text_width(attention.title, 15))
    group = Group(tuple(marks), kind="picture", content=attention)
    return Block((group,), width, top + rows * high - GAP, baseline=top + plan.line)


def _plan(attention: ImageAttention) -> _Plan:
    """The layout: the more images, the smaller; all of about the same area, whatever their aspect ratio."""
    count = len(attention.words) + 1
    side = 78.0 if attention.small else 200.0 if count <= 3 else 132.0 if count <= 12 else 108.0
    width = min(1.9 * side, WIDEST, max(side / 2, side * math.sqrt(attention.aspect)))
    fitting = max(1, int((WIDEST + GAP) // (width + GAP)))
    rows = -(-count // fitting)
    line = LINE if attention.words else 0.0
    return _Plan(round(width), round(width / attention.aspect), -(-count // rows), line)


def _panel(attention: ImageAttention, word: int | None, plan: _Plan, shared: bytes, gray: int) -> list[Mark]:
    sharp = max(attention.pixels.shape[:2]) < 1.5 * max(plan.width, plan.height)
    marks: list[Mark] = [Image(0, plan.line, plan.width, plan.height, shared, smooth=not sharp)]
    if word is not None:
        marks += _label(attention, word, plan)
        marks += _veil(attention, word, plan, gray)
        marks += _truth(attention, word, plan)
    plane = attention.over and word is not None and attention.style == "smooth"
    frame = Rect(0, plan.line, plan.width, plan.height, stroke="muted", stroke_width=0.75, opacity=0.55,
                 at=PlaneHandle(attention.over, word) if plane else None)  # fmt: skip
    return [*marks, frame]


def _label(attention: ImageAttention, word: int, plan: _Plan) -> list[Mark]:
    size = 12.0 if attention.small else 14.0
    sure = (
        "" if attention.probabilities is None or attention.small else f"{attention.probabilities[word]:.2f}"
    )
    label = visible(attention.words[word])
    if text_width(label, size * BOLDER) + text_width(sure, 11) + 6 > plan.width:
        sure = ""  # the word matters more
    text = _cut(label, plan.width, size)
    color = "muted" if is_special(attention.words[word]) else "ink"
    at = PieceHandle(word) if attention.pieces else None
    marks: list[Mark] = [Text(0, LINE - 6, text, size=size, color=color, bold=True, at=at)]
    if sure:
        marks.append(Text(plan.width, LINE - 6, sure, size=11, color="muted", anchor="end"))
    return marks


def _cut(text: str, width: float, size: float) -> str:
    """The text on one line, with … in place of the part that does not fit."""
    if text_width(text, size * BOLDER) <= width:
        return text
    return wrap(text, width - size, size * BOLDER, lines=1)[0].rstrip("…") + "…"


def _veil(attention: ImageAttention, word: int, plan: _Plan, gray: int) -> list[Mark]:
    shares = attention.laid(attention.share(word))
    if attention.style == "smooth":
        scale = VEIL_PIXELS / max(plan.width, plan.height)
        size = max(2, round(plan.width * scale)), max(2, round(plan.height * scale))
        return [Image(0, LINE, plan.width, plan.height, veil(shares, gray, *size), smooth=True)]
    if attention.weights.size > CELLS_UP_TO:
        return [Image(0, LINE, plan.width, plan.height, cell_veil(shares, gray), smooth=False)]
    color = f"#{gray:02x}{gray:02x}{gray:02x}"
    rows, columns = attention.grid
    wide, high = plan.width / columns, plan.height / rows
    return [
        Rect(column * wide, LINE + row * high, wide, high, fill=color, stroke=color, stroke_width=0.4,
             opacity=round(VEIL * (1 - float(shares[row, column])), 3),
             tags=(("row", str(row)), ("column", str(column)),
                   ("value", f"{attention.laid(attention.weights[word])[row, column]:.6g}")),
             at=attention.handle(word, row * columns + column))
        for row in range(rows) for column in range(columns)
    ]  # fmt: skip


def _truth(attention: ImageAttention, word: int, plan: _Plan) -> list[Mark]:
    """The outline of the true region, on a light line that is visible on any image: its box, if known, and the cells
    that count as correct."""
    true = attention.laid(attention.true(word))
    if not true.any():
        return []
    steps: list[Step] = []
    if attention.boxes and attention.style == "smooth":
        for left, top, right, bottom in attention.boxes[word]:
            corners = [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]
            places = [(x * plan.width, LINE + y * plan.height) for x, y in corners]
            steps += [("M", places[0]), *(("L", place) for place in places[1:])]
    else:
        wide, high = plan.width / attention.grid[1], plan.height / attention.grid[0]
        for (x1, y1), (x2, y2) in border(true):
            steps += [("M", (x1 * wide, LINE + y1 * high)), ("L", (x2 * wide, LINE + y2 * high))]
    thick = 1.5 if attention.small else 2.25
    return [
        Shape(tuple(steps), stroke="#ffffff", width=thick + 2, opacity=0.8),
        Shape(tuple(steps), stroke="truth", width=thick, tags=(("truth", "1"),)),
    ]


def border(cells: NDArray[np.bool_]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The border of a set of cells, as maximal straight segments between corners (x, y) of the grid."""
    framed = np.pad(cells, 1)
    segments: list[tuple[tuple[int, int], tuple[int, int]]] = []
    # Between two vertically adjacent cells there is a border if exactly one of them is inside.
    for y, line in enumerate(framed[1:, 1:-1] != framed[:-1, 1:-1]):
        segments += [((first, y), (last, y)) for first, last in true_runs(line)]
    for x, line in enumerate((framed[1:-1, 1:] != framed[1:-1, :-1]).T):
        segments += [((x, first), (x, last)) for first, last in true_runs(line)]
    return segments


def true_runs(line: Sequence[bool] | NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Start and end (exclusive) of each run of true values."""
    turns = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(line, dtype=int), [0]])))
    return [(int(first), int(last)) for first, last in zip(turns[::2], turns[1::2], strict=True)]


def image_tip(attention: ImageAttention, word: int) -> str:
    best = attention.best(word)
    row, column = divmod(best, attention.grid[1])
    told = f"{visible(attention.words[word])}\nmost at row {row}, column {column}: {attention.weights[word, best]:.3f}"
    hit = attention.hits(word)
    return told if hit is None else f"{told}\n{'on' if hit else 'beside'} the {attention.outlined}"


def image_legend(shown: Sequence[ImageAttention]) -> Block:
    """The legend of brightness and outline."""
    size, text = 11.0, "bright: attended, veiled: not attended"
    marks: list[Mark] = [Text(0, 9, text, size=size, color="muted")]
    x = text_width(text, size)
    outlined = next((attention.outlined for attention in shown if attention.known), None)
    if outlined is not None:
        marks.append(Rect(x + 19, 0, 10, 10, stroke="truth", stroke_width=1.75))
        marks.append(Text(x + 36, 9, outlined, size=size, color="muted"))
        x += 36 + text_width(outlined, size)
    return Block(tuple(marks), x, 11.0)
