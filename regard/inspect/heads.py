"""The attention heads of a Transformer: a row of small heatmaps for each layer, one per head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.inspect.drawings.heads import HeadPanels
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.head_drawing import draw_heads
from regard.inspect.layout import below, color_scale, frame
from regard.inspect.scene import Scene
from regard.inspect.titles import headline
from regard.inspect.writing import right_to_left, visible
from regard.trace import LayerHeads, Trace

Layers = str | int | Sequence[str | int] | None
"""Layers by name or by number from 1; None: all."""

WIDEST = 1040.0
"""Maximum width of a row of heads; further heads continue in another row, because a page does not scale them down."""

CELLS_WITH_TIPS = 10_000
"""Maximum number of cells drawn separately, with tooltips; with more, the file would consist mostly of tooltips."""


def heads_figure(trace: Trace, layers: Layers = None, *, title: str | None = None) -> Scene:
    """The attention of each head of each layer: queries by positions; weights of exactly 0 are empty cells.

    layers   the layers to draw, by name or by number from 1, in this order; default: all
    """
    shown = [_panels(name, trace.heads[name]) for name in chosen_layers(trace, layers)]
    matrices = [matrix for panels in shown for matrix in panels.matrices]
    tips = sum(matrix.values.size for matrix in matrices) <= CELLS_WITH_TIPS
    blocks = [draw_heads(panels, widest=WIDEST, tips=tips) for panels in shown]
    scale = color_scale(name="weight", zeros=any(matrix.has_zeros for matrix in matrices))
    return frame(
        below([*blocks, scale], gap=26),
        title=headline(trace) if title is None else title,
        description=" ".join(map(tell_heads, shown)),
    )


def chosen_layers(trace: Trace, layers: Layers = None) -> list[str]:
    """The names of the requested layers; raises an error if the trace lacks one."""
    known = list(trace.heads)
    if not known:
        raise RegardError(
            "this trace has no heads to draw: no layer of the model has several heads.",
            fix="Use regard.inspect.figure(trace), which draws what there is.",
        )
    if layers is None:
        return known
    asked = [layers] if isinstance(layers, str | int) else layers
    return list(dict.fromkeys(_layer(known, one) for one in asked))


def _layer(known: Sequence[str], asked: str | int) -> str:
    if isinstance(asked, str) and asked in known:
        return asked
    number = int(asked) if isinstance(asked, int) or (asked.isascii() and asked.isdecimal()) else 0
    if not 1 <= number <= len(known):
        listed = ", ".join(f"{place} ({name})" for place, name in enumerate(known, 1))
        raise RegardError(f"there is no layer {asked!r} with heads.", fix=f"Choose from {listed}.")
    return known[number - 1]


def _panels(name: str, looks: LayerHeads) -> HeadPanels:
    across = f"positions of {looks.over}" if looks.over else "positions of the output"
    matrices = tuple(
        Matrix(
            tuple(looks.queries),
            tuple(looks.keys),
            weights,
            title=f"head {number}",
            row_name="queries",
            column_name=across,
        )
        for number, weights in enumerate(looks.weights, 1)
    )
    # A name that starts with a right-to-left word must not reverse the whole title: the mark fixes its direction.
    return HeadPanels(matrices, title=f"\u200e{name}" if right_to_left(name) else name)


def tell_heads(panels: HeadPanels) -> str:
    """A layer in words: the strongest weight of each head, and its number of weights that are exactly 0."""
    parts = []
    for matrix in panels.matrices:
        if not matrix.values.size:
            continue
        row, column = np.unravel_index(int(np.argmax(matrix.values)), matrix.values.shape)
        strongest = f"{visible(matrix.rows[row])} at {visible(matrix.columns[column])}"
        zeros = f", {(matrix.values == 0).mean():.0%} of the weights are 0" if matrix.has_zeros else ""
        parts.append(f"{matrix.title} most strongly {strongest} ({matrix.values[row, column]:.2f}){zeros}")
    return f"{visible(panels.title)}: {'; '.join(parts) or 'nothing to show'}."
