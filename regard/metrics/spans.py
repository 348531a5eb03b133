"""Metrics of spans, pairs of a first and a last word.

    F1 = 2 |predicted ∩ true| / (|predicted| + |true|) of the words of a row, mean over rows (Rajpurkar et al. 2016)

`exact` is the share of rows with the true span. `span_mass` measures where a model looks before it decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.metric import Inference, OutputMetric, References, RowMetric, Score, Table, ratio
from regard.parts import register


@register("metric", "span_f1")
class SpanF1(OutputMetric):
    """F1 of the words of the predicted and the true span, mean over rows."""

    suits = ("span",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): the F1 with the best-matching reference, and 1."""
        pairs = zip(predictions, references, strict=True)
        return np.array([(max(overlap(mine, true) for true in row), 1.0) for mine, row in pairs])

    def describe(self, count: str) -> str:
        return f"F1 of words, mean over rows|refs:{count}"


@register("metric", "span_mass")
class SpanMass(RowMetric):
    """The share of the model's probability on the words of the true span, mean over rows. Baseline: uniform."""

    suits = ("span",)
    baseline_name = "chance level"

    def measure(self, inference: Inference) -> Score | None:
        lines = self.lines(inference)
        if lines is None:
            return None
        return Score(
            self.name, ratio(lines.sum(0)), len(lines), "share of probability on the words of the span"
        )

    def lines(self, inference: Inference) -> Table | None:
        found = inference.once(span_shares)
        return np.array([(looked, 1.0) for looked, _ in found]) if found else None

    def baseline(self, inference: Inference) -> Score | None:
        found = inference.once(span_shares)
        if not found:
            return None
        return Score(self.name, float(np.mean([evenly for _, evenly in found])), len(found), "uniform")


def span_shares(inference: Inference) -> list[tuple[float, float]]:
    """For each row: the share of probability on the words of the true span, and the share of these words."""
    (name,), found = inference.output.column.of, []
    for row, trace in inference.traces():
        weights = trace.attention[name][0]
        first, last = inference.references[row][0]
        found.append(
            (float(weights[first : last + 1].sum() / weights.sum()), (last + 1 - first) / len(weights))
        )
    return found


def overlap(mine: Sequence[int], true: Sequence[int]) -> float:
    """F1 of the words of two spans, each from its first to its last word."""
    common = min(mine[1], true[1]) - max(mine[0], true[0]) + 1
    return 2.0 * max(common, 0) / (mine[1] - mine[0] + true[1] - true[0] + 2)
