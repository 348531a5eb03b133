"""The marks of hops: the sentences of a story as rows, hops as columns, with the weights of each hop.

The chosen sentence of each hop is a circled number, joined to the next by a line. True facts have their rank beside the
row, and an outline at the hop that should have read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from regard.inspect.handles import WeightHandle, WordHandle
from regard.inspect.layout import Block, color_scale
from regard.inspect.palette import Over, Shade
from regard.inspect.scene import Circle, Group, Mark, Rect, Text, line
from regard.inspect.writing import right_to_left, text_width, visible, wrap

if TYPE_CHECKING:
    from regard.inspect.drawings.hops import HopTable

SIZE = 14.0
LINE = 19.0
CELL = 56.0
GAP = 18.0
"""Distance between two hops, for the line that joins their choices."""
UNUSED = "not used"
"""Written below a hop without any weight, which reads nothing."""
TEXT = 400.0
"""Maximum width of sentences, which wrap."""


def draw_hops(table: HopTable, *, row_labels: bool = True) -> Block:
    """The table as a block; its baseline is the upper edge of the first row."""
    count = len(table.hops.weights)
    texts = [wrap(visible(text), TEXT, SIZE, lines=6) for text in table.positions]
    badge = 26.0 if row_labels and table.hops.truth is not None else 0.0
    widest = max((text_width(written, SIZE) for lines in texts for written in lines), default=0.0)
    left = badge + widest * 1.03 + 22 if row_labels else 0.0
    top = (24.0 if table.title else 0.0) + 22
    marks: list[Mark] = [Text(left, 12, table.title, size=13, bold=True)] if table.title else []
    empty: list[float] = []
    for hop in range(count):
        x = left + hop * (CELL + GAP) + CELL / 2
        marks.append(Text(x, top - 8, f"hop {hop + 1}", size=12, anchor="middle", color="muted"))
        if not table.reads(hop):
            empty.append(x)
    y = top
    tops: list[float] = []
    rows: list[Mark] = []
    for place, lines in enumerate(texts):
        high = max(32.0, len(lines) * LINE + 9)
        rows.append(_row(table, place, lines if row_labels else [], (badge, left - 22), left, y, high))
        tops.append(y + high / 2)
        y += high + 2
    marks += [Group(tuple(rows), kind="rows"), *_ties(table, tops, left)]
    if empty and texts:
        marks += [
            Text(x, y + 12, UNUSED, size=11, anchor="middle", color="muted", italic=True) for x in empty
        ]
        y += 18
    if not texts or not count:
        marks.append(Text(0, top + 16, "nothing to show", size=13, color="muted", italic=True))
        y = top + 26
    width = max(left + count * (CELL + GAP) - GAP, left + text_width(table.title, 15), 110)
    return Block((Group(tuple(marks), kind="hops", content=table),), width, y, baseline=top)


def _row(table: HopTable, place: int, lines: Sequence[str], text: tuple[float, float], left: float, y: float,
         high: float) -> Group:  # fmt: skip
    count = len(table.hops.weights)
    wide = left + count * (CELL + GAP) - GAP
    marks: list[Mark] = [Rect(0, y - 1, wide, high + 2, fill="paper", opacity=0)]
    first = y + high / 2 - (len(lines) - 1) * LINE / 2 + SIZE * 0.35
    start, end = text
    for number, written in enumerate(lines):
        backwards = right_to_left(written)
        marks.append(
            Text(end if backwards else start, first + number * LINE, written, size=SIZE,
                 anchor="end" if backwards else "start", at=WordHandle(table.over, place) if table.over else None)
        )  # fmt: skip
    orders = table.true_order(place)
    if orders and lines:
        marks += _badge(", ".join(map(str, orders)), y + high / 2)
    for hop in range(count):
        x = left + hop * (CELL + GAP)
        if table.reads(hop):
            marks += _cell(table, place, hop, x, y, high)
        else:
            tags = (("column", str(hop)), ("value", "0"))
            marks.append(Rect(x + 0.5, y + 0.5, CELL - 1, high - 1, stroke="faint", radius=4, tags=tags))
    return Group(tuple(marks), kind="row", tags=(("row", str(place)), ("label", table.positions[place])))


def _badge(text: str, y: float) -> list[Mark]:
    """The rank of a true fact, beside its sentence."""
    wide = max(17.0, text_width(text, 11) + 9)
    return [
        Rect(0.75, y - 8.5, wide, 17, stroke="truth", stroke_width=1.75, radius=8.5, tip=f"true fact {text}"),
        Text(0.75 + wide / 2, y + 4, text, size=11, anchor="middle", color="truth", bold=True),
    ]


def _cell(table: HopTable, place: int, hop: int, x: float, y: float, high: float) -> list[Mark]:
    weight = float(table.hops.weights[hop, place])
    shade = Shade(weight)
    true, best = table.is_true(place, hop), table.is_best(place, hop)
    said = "".join(("\nchosen" * best, "\ntrue" * true))
    tip = f"hop {hop + 1} ← {visible(table.positions[place])}  {weight:.3f}{said}"
    tags = (("column", str(hop)), ("value", f"{weight:.6g}"))
    at = WeightHandle(table.over, hop, place, weight) if table.over else None
    marks: list[Mark] = [Rect(x, y, CELL, high, fill=shade, radius=4, tip=tip, tags=tags, at=at)]
    middle = y + high / 2
    if best:
        marks.append(
            Rect(x + 8, middle - 11.5, CELL - 16, 23, stroke=Over(shade), stroke_width=1.75, radius=11.5,
                 tags=(("best", "1"),))
        )  # fmt: skip
    if best or weight >= 0.01:
        marks.append(
            Text(
                x + CELL / 2,
                middle + 4,
                f"{weight:.2f}",
                size=12,
                anchor="middle",
                color=Over(shade),
                bold=best,
            )
        )
    if true:
        marks.append(
            Rect(x + 0.75, y + 0.75, CELL - 1.5, high - 1.5, stroke="truth", stroke_width=2.25, radius=4,
                 tags=(("truth", "1"),))
        )  # fmt: skip
    return marks


def _ties(table: HopTable, tops: Sequence[float], left: float) -> list[Mark]:
    """Lines from the choice of each hop to that of the next."""
    if table.hops.best is None:
        return []
    marks: list[Mark] = []
    places = table.hops.best.tolist()
    for hop, (one, next_one) in enumerate(pairwise(places)):
        if one >= 0 and next_one >= 0:
            x = left + hop * (CELL + GAP) + CELL
            marks.append(line(x + 2, tops[one], x + GAP - 2, tops[next_one], color="accent", width=1.75))
            marks.append(Circle(x + 2, tops[one], 2.5, fill="accent"))
            marks.append(Circle(x + GAP - 2, tops[next_one], 2.5, fill="accent"))
    return marks


def hop_legend(shown: Sequence[HopTable]) -> Block:
    """The scale of the shades, and the meaning of circles, numbers and outlines."""
    scale = color_scale(name="weight")
    marks: list[Mark] = list(scale.marks)
    x = scale.width
    if any(table.hops.best is not None for table in shown):
        marks += [Rect(x + 18, 0, 22, 10, stroke="ink", stroke_width=1.5, radius=5), _word("chosen", x + 46)]
        x += 46 + text_width("chosen", 11)
    if any(table.hops.truth is not None for table in shown):
        marks += [
            Rect(x + 18, 0, 10, 10, stroke="truth", stroke_width=1.75, radius=2),
            _word("true fact", x + 34),
        ]
        x += 34 + text_width("true fact", 11)
    return Block(tuple(marks), x, 11.0)


def _word(text: str, x: float) -> Text:
    return Text(x, 9, text, size=11, color="muted")
