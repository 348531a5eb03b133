"""The share of pointers that make the same figure as the true ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.inference import Inference
from regard.metrics.metric import Metric, Score
from regard.parts import register


@register("metric", "same_figure")
class SameFigure(Metric):
    """A polygon is the same wherever it begins, a tour in both directions too, triangles in any order.

    Of a sequence, and of a figure that is written as the data write it, this is exact match.
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
    """What all ways to write one figure have in common."""
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
