"""Points of the plane in a terminal: their numbers where they lie, those of the answer shaded; then what they make."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from rich.text import Text

from regard.inspect.sights import PlaneLooks
from regard.inspect.terminal.ink import Ink

WIDEST, HIGHEST = 48, 20


def draw_plane(looks: PlaneLooks, width: int, ink: Ink) -> Iterator[Text]:
    """A character is about twice as high as it is wide."""
    if looks.title:
        yield Text(looks.title, style=ink.style("ink", bold=True))
    columns, lines = max(8, min(width, WIDEST)), HIGHEST
    low, high = looks.points.min(0), looks.points.max(0)
    extent = np.maximum(high - low, 1e-12)
    room = columns - len(str(len(looks.points)))
    scale = min(room / extent[0], 2 * (lines - 1) / extent[1])
    rows: dict[int, dict[int, int]] = {}
    for number, (x, y) in enumerate(looks.points):
        line = round((high[1] - y) * scale / 2)
        rows.setdefault(int(line), {})[round(float((x - low[0]) * scale))] = number
    chosen = set(looks.places)
    for line in range(max(rows) + 1):
        written, at = Text(no_wrap=True, overflow="crop"), 0
        for column, number in sorted(rows.get(line, {}).items()):
            name = str(number + 1)
            written.append(" " * max(0, column - at))
            at = max(at, column) + len(name)
            written.append(name, style=ink.on(1.0) if number in chosen else ink.style("muted"))
        yield written
    yield Text()
    yield Text(f"{looks.form}: {_written(looks.places, looks.form)}", overflow="fold")
    if looks.true_places is not None and not looks.right:
        yield Text(
            f"truth: {_written(looks.true_places, looks.form)}", style=ink.style("truth"), overflow="fold"
        )


def _written(places: tuple[int, ...], form: str) -> str:
    names = [str(place + 1) for place in places]
    if form != "triangles":
        return " ".join(names)
    return "; ".join(" ".join(names[low : low + 3]) for low in range(0, len(names), 3))
