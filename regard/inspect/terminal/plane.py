"""Points of the plane in a terminal: their numbers at their positions, those of the output shaded, or in brackets
without color; then the figure they form."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.text import Text

from regard.inspect.sights import PlaneLooks
from regard.inspect.terminal.ink import Ink
from regard.trace import written

WIDEST, HIGHEST = 48, 20


def draw_plane(looks: PlaneLooks, width: int, ink: Ink) -> Iterator[Text]:
    """The points in lines of at most `width` cells; a character is about twice as high as wide."""
    if looks.title:
        yield Text(looks.title, style=ink.style("ink", bold=True))
    columns, lines = max(8, min(width, WIDEST)), HIGHEST
    low, high = looks.points.min(0), looks.points.max(0)
    extent = np.maximum(high - low, 1e-12)
    room = columns - len(str(len(looks.points))) - 2
    scale = min(room / extent[0], 2 * (lines - 1) / extent[1])
    rows: dict[int, dict[int, int]] = {}
    for number, (x, y) in enumerate(looks.points):
        line = round((high[1] - y) * scale / 2)
        rows.setdefault(int(line), {})[round(float((x - low[0]) * scale))] = number
    chosen = set(looks.places)
    for line in range(max(rows) + 1):
        drawn, at = Text(no_wrap=True, overflow="crop"), 0
        for column, number in sorted(rows.get(line, {}).items()):
            name = str(number + 1)
            if number in chosen and not ink.color:
                name = f"({name})"
            drawn.append(" " * max(0, column - at))
            at = max(at, column) + len(name)
            drawn.append(name, style=ink.on(1.0) if number in chosen else ink.style("muted"))
        yield drawn
    yield Text()
    yield Text(f"{looks.form}: {written(looks.places, looks.form)}", overflow="fold")
    if looks.true_places is not None and not looks.right:
        yield Text(
            f"truth: {written(looks.true_places, looks.form)}", style=ink.style("truth"), overflow="fold"
        )
