"""Attention to an image in character cells: the image once more for every word, side by side.

With color, images are half blocks under a veil, with the true region framed. Without color, each is the grid of the
attention in tenths of the word's largest weight, with the true cells in brackets:

    red ✓
     · ·[3 9]· ·
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from regard.inspect.raster import Pixels, resized, stepped, veiled
from regard.inspect.terminal.image import boxed, half_blocks, lines_for, side_by_side
from regard.inspect.terminal.ink import Ink, fit
from regard.inspect.writing import shorten, shorten_words, visible

if TYPE_CHECKING:
    from regard.inspect.drawings.image import ImageAttention

FAINT = 0.1
PANEL, SMALL, WHOLE = 18, 14, 28
"""Width of an image in cells: if several are side by side (four or five in eighty columns), and alone."""


def image_lines(attention: ImageAttention, width: int, ink: Ink) -> Iterator[Text]:
    """The image and the attention of each word, in lines of at most `width` cells."""
    if attention.title:
        yield Text(shorten_words(attention.title, width), style=ink.style("ink", bold=True))
    if ink.color and attention.words:
        yield from _veils(attention, width, ink)
        return
    alone = SMALL if attention.small else WHOLE
    if ink.color:
        yield from half_blocks(_plain(attention, min(width, alone)), ink)
    else:
        yield from boxed(half_blocks(_plain(attention, max(1, min(width - 2, alone))), ink))
    if attention.words:
        yield Text()
        yield from _grids(attention, width, ink)


def image_notes(shown: Sequence[ImageAttention], width: int, ink: Ink) -> Iterator[Text]:
    """The legend of brightness and signs."""
    drawn = [attention for attention in shown if attention.words]
    if not drawn:
        return
    parts = ["bright: attended"] if ink.color else ["9: its largest weight", "· under a tenth of it"]
    if any(attention.known for attention in drawn):
        parts.append(f"{'framed:' if ink.color else '[ ]'} {drawn[0].outlined}")
        parts.append("✓ most attended, ✗ not")
    line = ""
    for part in parts:
        if line and len(line) + 3 + len(part) > width:
            yield Text(line, style=ink.style("muted"))
            line = ""
        line = shorten(f"{line}   {part}" if line else part, width)
    yield Text(line, style=ink.style("muted"))


def _plain(attention: ImageAttention, columns: int) -> Pixels:
    return resized(attention.pixels, columns, 2 * lines_for(columns, attention.aspect))


def _veils(attention: ImageAttention, width: int, ink: Ink) -> Iterator[Text]:
    wanted = SMALL if attention.small else PANEL
    columns = min(width, round(wanted * max(1.0, min(2.0, attention.aspect**0.5))))
    rows = lines_for(columns, attention.aspect)
    panels = [[Text(" " * columns), *half_blocks(_plain(attention, columns), ink)]]
    for word in range(len(attention.words)):
        pixels = veiled(attention, word, columns, 2 * rows)
        framed = _framed(pixels, attention.laid(attention.true(word)), ink)
        panels.append([_label(attention, word, columns, ink), *half_blocks(framed, ink)])
    yield from _flow(panels, columns, width)


def _framed(pixels: Pixels, true: NDArray[np.bool_], ink: Ink) -> Pixels:
    """The pixels just outside the true cells in the color of truth (just inside at the edge of the image)."""
    if not true.any():
        return pixels
    inside = stepped(true, pixels.shape[1], pixels.shape[0])
    padded = np.pad(inside, 1)
    near = np.zeros_like(inside)
    for y in range(3):
        for x in range(3):
            near |= padded[y : y + inside.shape[0], x : x + inside.shape[1]]
    ring = near & ~inside
    if not ring.any():
        return pixels
    color = ink.theme.hex("truth")
    painted = pixels.copy()
    painted[ring] = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return painted


def _label(attention: ImageAttention, word: int, columns: int, ink: Ink) -> Text:
    hit = attention.hits(word)
    sign = "" if hit is None else " ✓" if hit else " ✗"
    text = shorten(visible(attention.words[word]), max(1, columns - len(sign))) + sign
    return Text(fit(text, columns), style=ink.style("truth" if hit is False else "ink", bold=True))


def _grids(attention: ImageAttention, width: int, ink: Ink) -> Iterator[Text]:
    rows, columns = _reduced(attention.grid, width)
    panels = []
    for word in range(len(attention.words)):
        shares = _pooled(attention.laid(attention.share(word)), rows, columns)
        true = _pooled(attention.laid(attention.true(word)).astype(float), rows, columns) > 0
        wide = min(width, 2 * columns + 1)
        lines = [_digits(shares[row], true[row]) for row in range(rows)]
        panels.append([_label(attention, word, wide, ink), *(Text(fit(line, wide)) for line in lines)])
    yield from _flow(panels, min(width, 2 * columns + 1), width)


def _digits(shares: NDArray[np.floating], true: NDArray[np.bool_]) -> str:
    """A line of the grid: tenths separated by blanks, with brackets around true cells."""
    line = ""
    for column, share in enumerate(shares):
        before = column > 0 and bool(true[column - 1])
        line += "[" if true[column] and not before else "]" if before and not true[column] else " "
        line += "·" if share < FAINT else str(min(9, int(10 * float(share))))
    return line + ("]" if true[-1] else " ")


def _reduced(grid: tuple[int, int], width: int) -> tuple[int, int]:
    """The size of the grid after merging cells so that a line fits."""
    rows, columns = grid
    while 2 * columns + 1 > max(3, width):
        rows, columns = -(-rows // 2), -(-columns // 2)
    return rows, columns


def _pooled(cells: NDArray[np.floating], rows: int, columns: int) -> NDArray[np.floating]:
    """The largest value of the merged cells."""
    tall, wide = -(-cells.shape[0] // rows), -(-cells.shape[1] // columns)
    padded = np.pad(cells, ((0, rows * tall - cells.shape[0]), (0, columns * wide - cells.shape[1])))
    return np.asarray(padded.reshape(rows, tall, columns, wide).max(axis=(1, 3)))


def _flow(panels: list[list[Text]], columns: int, width: int) -> Iterator[Text]:
    """Panels from left to right, in as many rows as they need, of equal length."""
    fitting = max(1, (width + 2) // (columns + 2))
    across = -(-len(panels) // -(-len(panels) // fitting))
    for first in range(0, len(panels), across):
        if first:
            yield Text()
        for line in side_by_side(panels[first : first + across]):
            line.rstrip()
            yield line
