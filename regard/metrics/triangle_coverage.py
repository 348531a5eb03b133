"""The share of true triangles that were found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


@register("metric", "triangle_coverage")
class TriangleCoverage(OutputMetric):
    """Σ |found and true| / Σ |true|, in any order; of several references, the nearest counts."""

    suits = ("pointers",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): true triangles that were found, and true triangles."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            found = _triangles(prediction)
            counts = [(len(found & true), len(true)) for true in map(_triangles, row)]
            lines.append(max(counts, key=lambda count: count[0] / max(count[1], 1)))
        return np.array(lines, dtype=np.float64)

    def describe(self, count: str) -> str:
        return f"share of the true triangles found|refs:{count}"


def _triangles(pointers: Sequence[int]) -> set[frozenset[int]]:
    return {frozenset(pointers[low : low + 3]) for low in range(0, len(pointers), 3)}
