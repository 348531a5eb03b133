"""The share of outputs that form the same figure as the true pointers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.metric import Inference, Metric, Score
from regard.parts import register


@register("metric", "same_figure")
class SameFigure(Metric):
    """The share of correct figures. Polygons may start anywhere, tours may also be reversed, triangles may be in any
    order.

    For a sequence, and for a figure written as in the data, this equals exact match.
    """

    suits = ("pointers",)

    def measure(self, inference: Inference) -> Score | None:
        form = getattr(inference.output.column, "form", "sequence")
        predictions, references = inference.predictions, inference.references
        right = [
            any(figure(answer.value, form) == figure(true, form) for true in row)
            for answer, row in zip(predictions, references, strict=True)
        ]
        return Score(self.name, float(np.mean(right)), len(right), f"same {form}")


def figure(pointers: Sequence[int], form: str) -> Any:
    """A canonical form, equal for all notations of the same figure."""
    pointers = list(pointers)
    if form == "triangles":
        return frozenset(frozenset(pointers[low : low + 3]) for low in range(0, len(pointers), 3))
    if form in ("polygon", "tour") and pointers:
        ways = [_from_lowest(pointers)]
        if form == "tour":
            ways.append(_from_lowest(pointers[::-1]))
        return min(ways)
    return pointers


def _from_lowest(pointers: Sequence[int]) -> list[int]:
    first = pointers.index(min(pointers))
    return [*pointers[first:], *pointers[:first]]
