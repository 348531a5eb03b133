"""The figure of faithfulness: a bar with its interval for each method, beside random, one block for each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from regard.inspect import Block, Scene
from regard.inspect.drawings.chart import Chart
from regard.inspect.layout import below, frame
from regard.inspect.scene import Group, Mark, Rect, Text, polyline
from regard.inspect.writing import text_width
from regard.questions.faithfulness.intervals import BootstrapInterval
from regard.questions.faithfulness.kinds import ATTENTION, HIGHER, RANDOM

if TYPE_CHECKING:
    from regard.questions.faithfulness.result import Faithfulness

WIDTH = 350.0
HIGH, STEP = 11.0, 17.0


def faithfulness_figure(found: Sequence[Faithfulness]) -> Scene:
    """Of one model: all methods; of several: their attentions, each beside random."""
    named = names_of(found)
    lines = {
        measure: rows for measure in HIGHER if len(rows := _lines(named, found, measure)) > 1
    }  # {measure: [(name, color, interval)]}
    room = 1.1 * max(text_width(name, 11) for rows in lines.values() for name, _, _ in rows) + 8
    blocks = [_block(measure, rows, room) for measure, rows in lines.items()]
    title = "Does the attention tell what the answer depends on?"
    first = found[0]
    told = "; ".join(
        f"{measure}: " + ", ".join(f"{name} {interval}" for name, _, interval in rows)
        for measure, rows in lines.items()
    )
    sizes = ", ".join(
        f"{name}: {len(one.pieces):,} pieces of {one.rows - one.skipped} answers"
        for name, one in zip(named, found, strict=True)
    )
    about = f"{sizes}. Bars are means, lines 95 % bootstrap intervals over answers. {told}."
    subtitle = f"{len(first.pieces):,} pieces of {first.rows - first.skipped} answers; 95 % intervals"
    return frame(below(blocks, gap=14.0), title=title, subtitle=subtitle, description=about)


def names_of(found: Sequence[Faithfulness]) -> list[str]:
    """The names of the models, numbered where two are equal."""
    names = [one.name for one in found]
    return [
        f"{name} {names[:place].count(name) + 1}" if names.count(name) > 1 else name
        for place, name in enumerate(names)
    ]


def _lines(
    named: Sequence[str], found: Sequence[Faithfulness], measure: str
) -> list[tuple[str, str, BootstrapInterval]]:
    rows: list[tuple[str, str, BootstrapInterval]] = []
    for order, (name, one) in enumerate(zip(named, found, strict=True)):
        for line in one.table:
            if line.measure != measure or (len(found) > 1 and line.method != ATTENTION):
                continue
            color = f"series-{order}" if line.method == ATTENTION else "series-4"
            rows.append((line.method if len(found) == 1 else name, color, line.value))
        mine = one.measured(measure)
        if mine is not None and mine.random is not None:
            rows.append((RANDOM if len(found) == 1 else f"{name}, random", "series-7", mine.random))
    return rows


def _block(measure: str, rows: Sequence[tuple[str, str, BootstrapInterval]], room: float) -> Block:
    number = text_width("0.000", 11) + 8
    full = WIDTH - room - number
    found = [one for _, _, value in rows for one in (value.value, value.low, value.high) if one == one]
    top, low = max([1.0, *found]), min([0.0, *found])
    zero = room + full * (0 - low) / (top - low)

    def across(value: float) -> float:
        return room + full * (value - low) / (top - low)

    better = "higher is better" if HIGHER[measure] else "lower is better"
    marks: list[Mark] = [
        Text(0, 11, measure, size=12, bold=True),
        Text(WIDTH, 11, better, size=10, color="muted", anchor="end"),
    ]
    y = 18.0
    for name, color, value in rows:
        begin, end = sorted((zero, across(value.value)))
        marks.append(Text(room - 8, y + 9, name, size=11, anchor="end"))
        marks.append(Rect(room, y, full, HIGH, fill="faint", radius=2, opacity=0.6))
        marks.append(
            Rect(
                begin, y, max(1.5, end - begin), HIGH, fill=color, radius=2, tip=f"{measure}, {name}: {value}"
            )
        )
        if value.low == value.low:
            first, last, middle = across(value.low), across(value.high), y + HIGH / 2
            marks.append(polyline([(first, middle), (last, middle)], color="ink", width=1.25))
            for x in (first, last):
                marks.append(polyline([(x, middle - 3), (x, middle + 3)], color="ink", width=1.25))
        marks.append(Text(WIDTH, y + 9, f"{value.value:.3f}", size=11, anchor="end"))
        y += STEP
    chart = Chart(
        "bars",
        (measure,),
        {name: np.array([value.value]) for name, _, value in rows},
        title=f"{measure} ({better})",
        digits="{:.3f}",
        intervals={name: np.array([[value.low, value.high]]) for name, _, value in rows},
    )
    return Block((Group(tuple(marks), kind="chart", content=chart),), WIDTH, y)
