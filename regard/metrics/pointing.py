"""The pointing game: whether attention peaks inside the true region (Zhang et al. 2016).

The share of steps with a known region whose most attended position lies in that region; ties go to the first position.
The baseline always points at the center.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.metrics.metric import Inference, OutputInfo, RowMetric, Score, Table
from regard.parts import register

Shape = tuple[int, ...]


@dataclass
class PlacedAttention:
    """Weights and truth (T, S) of each row, and the shape of its S positions."""

    weights: list[Any] = field(default_factory=list)
    truth: list[Any] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)


@register("metric", "pointing")
class Pointing(RowMetric):
    """The share of steps whose most attended position is in the true region. Baseline: always the center."""

    def refuses(self, output: OutputInfo) -> str | None:
        if output.known("places", attended=True):
            return None
        if output.known("places"):
            return f"{self.name} measures attention; the decoder of {output.name!r} has none over the input of `places`"
        return f"{self.name} needs the regions that {output.name!r} describes, a column of type places in `truth`"

    def measure(self, inference: Inference) -> Score | None:
        found = inference.once(placed_attention)
        return None if found is None else pointing(found.weights, found.truth)

    def lines(self, inference: Inference) -> Table | None:
        found = inference.once(placed_attention)
        if found is None:
            return None
        pairs = zip(found.weights, found.truth, strict=True)
        return np.array([_hits(table, places) for table, places in pairs], dtype=np.float64)

    def baseline(self, inference: Inference) -> Score | None:
        found = inference.once(placed_attention)
        return None if found is None else center_pointing(found.truth, found.shapes)


def placed_attention(inference: Inference) -> PlacedAttention | None:
    """The attention, with the true regions; None if no regions are known."""
    known = inference.output.known("places", attended=True)
    found = PlacedAttention()
    for _, trace in inference.traces() if known else ():
        for name in known:
            if name in trace.truth and name in trace.attention:
                found.weights.append(trace.attention[name])
                found.truth.append(trace.truth[name])
                found.shapes.append(inference.shape(name) or (trace.attention[name].shape[1],))
    return found if any(np.any(places) for places in found.truth) else None


def pointing(weights: Sequence[ArrayLike], truth: Sequence[ArrayLike]) -> Score:
    """weights and truth (T, S) of each row; the region of step t is where truth[t] is above 0, unknown if nowhere."""
    if len(weights) != len(truth):
        raise RegardError(
            f"expected as many rows of weights as of truth, received {len(weights)} and {len(truth)}."
        )
    hits = steps = 0
    for looked, true in zip(weights, truth, strict=True):
        right, known = _hits(looked, true)
        hits, steps = hits + right, steps + known
    return Score("pointing", hits / max(steps, 1), steps, "most attended position lies in the true place")


def _hits(weights: ArrayLike, truth: ArrayLike) -> tuple[int, int]:
    """For one row: the steps whose most attended position is in the true region, and the steps with a known region."""
    table, places = np.asarray(weights, dtype=np.float64), np.asarray(truth) > 0
    if table.shape != places.shape or table.ndim != 2:
        raise RegardError(
            f"expected weights and truth (steps, positions), received {table.shape} and {places.shape}."
        )
    known = places.any(1)
    return int(places[known, table[known].argmax(1)].sum()), int(known.sum())


def center_pointing(truth: Sequence[ArrayLike], shapes: Sequence[Shape]) -> Score:
    """The share of steps whose region contains the center of the memory; the mean if there are several central
    positions.

    shapes   the shape of each row: (rows, columns) of a grid, or (positions,)
    """
    hits, steps = 0.0, 0
    for true, shape in zip(truth, shapes, strict=True):
        places = np.asarray(true) > 0
        known = places[places.any(1)]
        hits += float(known[:, middle(shape)].mean(1).sum())
        steps += len(known)
    return Score("pointing", hits / max(steps, 1), steps, "always the middle")


def middle(shape: Shape) -> NDArray[np.int64]:
    """The central positions: along each side, one for an odd number of positions, two for an even one."""
    sides = [np.arange((side - 1) // 2, side // 2 + 1) for side in shape]
    return np.ravel_multi_index(np.ix_(*sides), shape).ravel()
