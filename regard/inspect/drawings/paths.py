"""Paths in the plane in character cells: a letter for each head at the positions it visited."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from rich.text import Text

from regard.inspect.drawings.drawing import Drawing
from regard.inspect.palette import series_color
from regard.inspect.terminal.ink import Ink
from regard.inspect.writing import shorten_words
from regard.parts import register
from regard.trace import Array

ROWS, COLUMNS = 16, 44
SEVERAL = "*"


@register("drawing", "paths")
@dataclass(frozen=True, eq=False)
class HeadPaths(Drawing):
    """Paths in the plane by name: (S, 2), the points of each in order.

    strengths   name → (S,) between 0 and 1, the weight of each point
    """

    paths: Mapping[str, Array]
    strengths: Mapping[str, Array]
    title: str = ""

    def terminal(self, width: int, ink: Ink) -> Iterator[Text]:
        return _lines(self, width, ink)


def _lines(heads: HeadPaths, width: int, ink: Ink) -> Iterator[Text]:
    """A grid of at most 44 by 16 cells; * for positions of several heads."""
    yield Text(shorten_words(heads.title, width), style=ink.style("ink", bold=True))
    points = np.concatenate([*heads.paths.values(), np.zeros((0, 2))])
    if not len(points) or not np.isfinite(points).all():
        yield Text("(nothing to show)", style=ink.style("muted"))
        return
    columns = max(1, min(COLUMNS, width - 2))
    low, span = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-9)
    grid: dict[tuple[int, int], set[int]] = {}
    for order, path in enumerate(heads.paths.values()):
        across = np.round((path[:, 0] - low[0]) / span[0] * (columns - 1)).astype(int)
        down = np.round((1 - (path[:, 1] - low[1]) / span[1]) * (ROWS - 1)).astype(int)
        for place in zip(down.tolist(), across.tolist(), strict=True):
            grid.setdefault(place, set()).add(order)
    letters = _letters(heads)
    for row in range(ROWS):
        line = Text("│", style=ink.style("muted"), no_wrap=True, overflow="crop")
        for column in range(columns):
            here = grid.get((row, column), set())
            if not here:
                line.append(" ")
            elif len(here) > 1:
                line.append(SEVERAL, style=ink.style("ink"))
            else:
                (order,) = here
                line.append(letters[order], style=ink.style(series_color(order)))
        line.rstrip()
        yield line
    high = low + span
    named = ", ".join(f"{letter} {name}" for letter, name in zip(letters, heads.paths, strict=True))
    bounds = f"x {low[0]:.2f} to {high[0]:.2f}, y {low[1]:.2f} to {high[1]:.2f}; {named}, {SEVERAL} several"
    yield Text(bounds, style=ink.style("muted"), overflow="fold")


def _letters(heads: HeadPaths) -> list[str]:
    """w and r, or w r s t … if there are several of a kind."""
    letters: list[str] = []
    for name in heads.paths:
        letter = name[:1]
        while letter in letters:
            letter = chr(ord(letter) + 1)
        letters.append(letter)
    return letters
