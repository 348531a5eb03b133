"""Intervals of the scores of an evaluation, made once for each."""

from __future__ import annotations

from regard.evaluation import Evaluation
from regard.metrics import RowMetric, metric
from regard.metrics.significance import ConfidenceInterval, interval_of


def interval(evaluation: Evaluation, name: str) -> ConfidenceInterval | None:
    """The interval of a score by bootstrap of the rows; None if the metric is no function of sums over rows."""
    lines = evaluation.statistics(name)
    measured = metric(name.rpartition(".")[2])
    if lines is None or not len(lines) or not isinstance(measured, RowMetric):
        return None
    return interval_of(measured, lines)
