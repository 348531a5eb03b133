"""A metric by group: lines for one field, a heatmap for two."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from regard.inspect.chart import bars
from regard.inspect.drawings.matrix import FEW, Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import Block, below, beside, color_scale, frame
from regard.inspect.scene import Scene, Text
from regard.inspect.writing import text_width

if TYPE_CHECKING:
    from regard.metrics.groups import ByGroup


def groups_figure(groups: Mapping[str, ByGroup], *, title: str | None = None) -> Scene:
    """groups: model name → scores; all by the same fields."""
    first = next(iter(groups.values()))
    by = " and ".join(first.names)
    title = f"{first.metric} by {by}" if title is None else title
    if len(first.names) == 1:
        return _lines(groups, first, title)
    limit = max(1.0, *(float(np.nanmax(one.values())) for one in groups.values()))
    shown = [
        Matrix(
            rows=tuple(one.labels(0)),
            columns=tuple(one.labels(1)),
            values=one.values(),
            row_name=one.names[0],
            column_name=one.names[1],
            limit=limit,
            shades=np.nan_to_num(one.values() / limit).clip(0.0, 1.0),  # 0 is shown, unlike a missing group
            numbers=True,
            counts=one.counts(),
            title=name if len(groups) > 1 else "",
        )
        for name, one in groups.items()
    ]
    blocks = [draw_matrix(matrix) for matrix in shown]
    few = any(((one.counts() > 0) & (one.counts() < FEW)).any() for one in groups.values())
    scale = color_scale(name=first.metric, limit=limit)
    if few:
        text = f"not shaded: n < {FEW}"
        note = Block((Text(0, 9, text, size=11, color="muted"),), text_width(text, 11), 11.0)
        scale = beside([scale, note], gap=18)
    cells = "; ".join(
        f"{name}: " + ", ".join(f"{' × '.join(cell.group)} {cell.value:.3g}" for cell in one.cells)
        for name, one in groups.items()
    )
    return frame(
        below([beside(blocks, gap=24), scale], gap=16),
        title=title,
        subtitle=f"{first.names[0]} down, {first.names[1]} across",
        description=f"{title}. {cells}.",
    )


def _lines(groups: Mapping[str, ByGroup], first: ByGroup, title: str) -> Scene:
    places = first.ordered({label for one in groups.values() for label in one.labels(0)})
    nothing = (math.nan, math.nan)
    cells = {name: {cell.group[0]: cell for cell in one.cells} for name, one in groups.items()}
    counts = next(iter(cells.values()))
    return bars(
        places,
        {
            name: [one[place].value if place in one else math.nan for place in places]
            for name, one in cells.items()
        },
        counts=[counts[place].n if place in counts else 0 for place in places],
        intervals={
            name: [one[place].interval if place in one else nothing for place in places]
            for name, one in cells.items()
        },
        title=title,
        x_name=f"{first.names[0]}; thin lines: 95 % of resamples",
        y_name=first.metric,
        style="lines",
    )
