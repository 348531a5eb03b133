"""Attention as a heatmap: source positions in columns, a row per output piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.inspect.attention_rows import attention_rows
from regard.inspect.drawings.matrix import Matrix
from regard.inspect.grid import draw_matrix
from regard.inspect.layout import IDLE, Block, below, beside, color_scale, frame
from regard.inspect.scene import Scene
from regard.inspect.titles import reading
from regard.inspect.writing import visible
from regard.trace import Array, Trace

DIFFUSE, FAINTEST = 0.5, 1e-4
"""If no weight reaches the first, the scale ends at the largest one; weights below the second are invisible."""


def matrices(trace: Trace, *, live: bool = True) -> list[Matrix]:
    """One matrix per attended input, in the order of the trace.

    live   whether columns are positions of the input, not runs of them
    """
    several = len(trace.attention) > 1
    looks = {name: attention_rows(trace, name) for name in trace.attention}
    limit = scale(*(found.weights for found in looks.values()))
    return [
        Matrix(
            limit=limit,
            rows=found.names,
            columns=tuple(trace.input[name]),
            values=found.weights,
            truth=found.truth,
            margin=found.probabilities,
            title=name if several else "",
            row_name=_asking(trace, name),
            column_name=name,
            outlined=found.outlined,
            over=name if live else "",
            pieces=live and name not in trace.glimpses,
            idle=trace.idle(name, found.weights),
        )
        for name, found in looks.items()
    ]


def _asking(trace: Trace, name: str) -> str:
    """The name of the rows: the output, or the input whose words attend."""
    names = trace.glimpses[name].names if name in trace.glimpses else ()
    others = (other for other, pieces in trace.input.items() if other != name and tuple(pieces) == names)
    return next(others, "output") if names else "output"


def scale(*weights: Array) -> float:
    """The weight with the full shade: 1, or the largest one if attention is so diffuse that no weight comes near 1. It
    is at least twice a uniform weight, so that uniform attention looks uniform."""
    largest = max((float(one.max(initial=0.0)) for one in weights if not np.isnan(one).any()), default=1.0)
    positions = min((one.shape[1] for one in weights if one.size), default=1)
    limit = max(largest, 2.0 / positions)
    if limit >= DIFFUSE or largest < FAINTEST:
        return 1.0
    step = 10.0 ** (math.floor(math.log10(limit)) - 1)
    return float(f"{math.ceil(limit / step - 1e-9) * step:.2g}")


def heatmap(trace: Trace, *, title: str | None = None, live: bool = True) -> Scene:
    """The attention of one prediction: source in columns, target in rows, probabilities of the output pieces on the
    right.

    True cells are outlined, if known. Several attended inputs are side by side and share their rows.

    live   whether columns are positions of the input, not runs of them
    """
    if not trace.attention:
        raise RegardError(
            "this trace has no attention to draw: the model's decoder has none.",
            fix="Use regard.inspect.figure(trace), which draws what there is.",
        )
    shown = matrices(trace, live=live)
    last = len(shown) - 1
    blocks = [draw_matrix(matrix, row_labels=i == 0, margin=i == last) for i, matrix in enumerate(shown)]
    legend = color_scale(name="weight", limit=shown[0].limit, **_signs(shown))
    return frame(
        below([beside(blocks, gap=18), legend], gap=16),
        title=reading(trace) if title is None else title,
        description=describe(trace),
    )


def panels(
    figures: Sequence[tuple[str, Trace | Matrix]], *, title: str = "", across: int | None = None
) -> Scene:
    """Several heatmaps with titles, in one row or with `across` per row: truth, simple, sigmoid and structured.

    Panels of a row share the labels of the first if their rows are the same.
    """
    if not figures:
        raise RegardError("there are no panels to draw.", fix="Give at least one (title, trace).")
    shown = [replace(_single(figure), title=name, margin=None) for name, figure in figures]
    shown = [replace(matrix, limit=max(one.limit for one in shown)) for matrix in shown]
    across = across or len(shown)
    lines = [shown[i : i + across] for i in range(0, len(shown), across)]
    rows = [beside(_share_labels(line), gap=24) for line in lines]
    legend = color_scale(name="weight", limit=shown[0].limit, **_signs(shown))
    names = ", ".join(matrix.title for matrix in shown)
    return frame(below([*rows, legend], gap=20), title=title, description=f"{len(shown)} heatmaps: {names}.")


def _signs(shown: Sequence[Matrix]) -> dict[str, Any]:
    """The legend entries of outlined and empty cells."""
    known = [matrix.outlined for matrix in shown if matrix.truth is not None]
    zeros = any(matrix.has_zeros for matrix in shown)
    signs: dict[str, Any] = {"zeros": zeros, "idle": any(matrix.idle is not None for matrix in shown)}
    return {"truth": True, "outlined": known[0], **signs} if known else signs


def _single(figure: Trace | Matrix) -> Matrix:
    if not isinstance(figure, Trace):
        return figure
    found = matrices(figure)
    if len(found) != 1:
        names = ", ".join(figure.attention) or "none"
        raise RegardError(
            f"a panel shows the attention over one input, this trace has {len(found)} ({names})."
        )
    return found[0]


def _share_labels(line: Sequence[Matrix]) -> list[Block]:
    line = [replace(matrix, row_name="" if i else matrix.row_name) for i, matrix in enumerate(line)]
    return [
        draw_matrix(matrix, row_labels=i == 0 or matrix.rows != line[0].rows) for i, matrix in enumerate(line)
    ]


def describe(trace: Trace) -> str:
    """The most attended position of each output piece, in words."""
    parts = []
    for name in trace.attention:
        found, pieces = attention_rows(trace, name), trace.input[name]
        if not len(pieces):
            continue
        best = found.weights.argmax(axis=1) if len(found.weights) else []
        idle = trace.idle(name, found.weights)
        looks = "; ".join(
            f"{visible(piece)} looks at {visible(pieces[s])} ({found.weights[t, s]:.2f}"
            f"{f', {IDLE}' if idle is not None and idle[t, s] else ''})"
            for t, (piece, s) in enumerate(zip(found.names, best, strict=True))
        )
        parts.append(f"Attention over {name}: {looks or 'nothing was written'}.")
    return " ".join(parts)
