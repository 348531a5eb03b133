"""Blocks: marks with a size, which can be placed beside and below each other and framed as a scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.inspect.palette import LEVELS, Color, Shade
from regard.inspect.scene import Group, Mark, Rect, Scene, Shape, Text
from regard.inspect.writing import running_width, text_width, wrap

__all__ = ["Block", "below", "beside", "flowing", "frame"]

PADDING = 20.0
TITLE_SIZE = 17.0
BOLDER = 1.15
"""Factor by which bold letters may exceed the estimate of `text_width`, in the widest of the usual fonts."""
NARROWEST = 320.0
"""Minimum width of a title before it wraps, even above a smaller figure."""

EMPTY = "exactly 0"
"""Meaning of an empty cell."""
IDLE = "no effect on log p"
"""Meaning of the sign × on a weight: without the position, log p changes by less than 0.01."""

WIDEST = 1180.0
"""Maximum total width of blocks side by side."""


@dataclass(frozen=True)
class Block:
    """Marks that fill (0, 0) to (width, height). Blocks side by side are aligned at the y coordinate `baseline`."""

    marks: tuple[Mark, ...]
    width: float
    height: float
    baseline: float = 0.0

    def moved(self, dx: float, dy: float) -> Group:
        return Group(self.marks, dx=dx, dy=dy)


def beside(blocks: Sequence[Block], *, gap: float = 28.0) -> Block:
    """Blocks in a row, aligned at their baselines."""
    baseline = max((block.baseline for block in blocks), default=0.0)
    groups, x, height = [], 0.0, 0.0
    for block in blocks:
        drop = baseline - block.baseline
        groups.append(block.moved(x, drop))
        x += block.width + gap
        height = max(height, drop + block.height)
    return Block(tuple(groups), max(0.0, x - gap), height, baseline)


def below(blocks: Sequence[Block], *, gap: float = 22.0) -> Block:
    """Blocks in a column, left aligned."""
    groups, y = [], 0.0
    for block in blocks:
        groups.append(block.moved(0, y))
        y += block.height + gap
    width = max((block.width for block in blocks), default=0.0)
    return Block(tuple(groups), width, max(0.0, y - gap), blocks[0].baseline if blocks else 0.0)


def flowing(blocks: Sequence[Block], *, widest: float, gap: float = 40.0, drop: float = 26.0) -> Block:
    """Blocks from left to right, in as many rows as needed, none wider than `widest` if possible."""
    rows: list[list[Block]] = [[]]
    for block in blocks:
        if rows[-1] and sum(one.width + gap for one in rows[-1]) + block.width > widest:
            rows.append([])
        rows[-1].append(block)
    return below([beside(row, gap=gap) for row in rows], gap=drop)


def shelved(
    pairs: Sequence[tuple[Block, Block]], *, widest: float, gap: float = 40.0, drop: float = 26.0
) -> Block:
    """Captions with their drawings below, in columns of equal width; the drawings of a row start at the same height."""
    width = max((max(caption.width, drawing.width) for caption, drawing in pairs), default=0.0)
    across = max(1, int((widest + gap) // (width + gap)))
    rows: list[Block] = []
    for first in range(0, len(pairs), across):
        row = pairs[first : first + across]
        height = max(caption.height for caption, _ in row)
        marks: list[Mark] = []
        for place, (caption, drawing) in enumerate(row):
            x = place * (width + gap)
            marks += [caption.moved(x, 0.0), drawing.moved(x, height + 10.0)]
        whole = len(row) * (width + gap) - gap
        rows.append(Block(tuple(marks), whole, height + 10.0 + max(drawing.height for _, drawing in row)))
    return below(rows, gap=drop)


def frame(block: Block, *, title: str = "", subtitle: str = "", description: str = "") -> Scene:
    """The block with a margin, and its title above."""
    marks: list[Mark] = []
    y = PADDING
    width = block.width
    for written in wrap(title, max(width, NARROWEST), TITLE_SIZE * BOLDER) if title else ():
        marks.append(Text(PADDING, y + TITLE_SIZE * 0.8, written, size=TITLE_SIZE, bold=True))
        width = max(width, text_width(written, TITLE_SIZE * BOLDER))
        y += TITLE_SIZE + 6
    if subtitle:
        marks.append(Text(PADDING, y + 11, subtitle, size=13, color="muted"))
        width = max(width, text_width(subtitle, 13))
        y += 20
    if title or subtitle:
        y += 8
    marks.append(block.moved(PADDING, y))
    return Scene(
        round(width + 2 * PADDING),
        round(y + block.height + PADDING),
        tuple(marks),
        title or subtitle,
        description,
    )


def color_scale(
    *,
    name: str,
    limit: float = 1.0,
    truth: bool = False,
    width: float = 120.0,
    outlined: str = "true position",
    outline: str = "truth",
    end: str | None = None,
    zeros: bool = False,
    idle: bool = False,
) -> Block:
    """The legend of a sequential scale, and of the outline of truth if there is one.

    end     text at the end of the scale; default: the limit
    zeros   whether there are weights of exactly 0, drawn as empty cells
    idle    whether weights without effect have a sign
    """
    size, high, steps = 11.0, 8.0, 40
    caption = f"{name} 0"
    x = max(text_width(caption, size), 1.1 * running_width(caption, size)) + 6
    marks: list[Mark] = [Text(0, 9, caption, size=size, color="muted")]
    step = width / steps
    for i in range(steps):
        level = Shade(round(LEVELS * (i + 0.5) / steps) / LEVELS)
        # Each strip extends below the next one, so that no gap shows between them.
        marks.append(Rect(x + i * step, 1, step + (0.6 if i < steps - 1 else 0), high, fill=level))
    marks.append(Rect(x, 1, width, high, stroke="faint", stroke_width=0.75))
    end = f"{limit:g}" if end is None else end
    x += width + 6
    marks.append(Text(x, 9, end, size=size, color="muted"))
    x += text_width(end, size)
    if zeros:
        x += 18
        marks.append(Rect(x + 1, 0, 10, 10, fill="paper", stroke="muted", stroke_width=0.75, radius=2))
        marks.append(Text(x + 17, 9, EMPTY, size=size, color="muted"))
        x += 17 + text_width(EMPTY, size)
    if truth:
        x += 18
        marks.append(Rect(x + 1, 0, 10, 10, stroke=outline, stroke_width=1.75, radius=2))
        marks.append(Text(x + 17, 9, outlined, size=size, color="muted"))
        x += 17 + text_width(outlined, size)
    if idle:
        x += 18
        marks += idle_sign(x + 6, 5, 4.0, "ink")
        marks.append(Text(x + 17, 9, IDLE, size=size, color="muted"))
        x += 17 + text_width(IDLE, size)
    return Block(tuple(marks), x, 11.0)


def idle_sign(x: float, y: float, reach: float, color: Color) -> list[Mark]:
    """A × around (x, y): a weight without effect."""
    return [
        Shape((("M", (x - reach, y - turn * reach)), ("L", (x + reach, y + turn * reach))), stroke=color, width=1.5,
              tags=(("idle", "1"),))
        for turn in (1, -1)
    ]  # fmt: skip
