"""Significance of differences by bootstrap resampling of the test rows (Koehn 2004), reproducible by seed.

A resample draws n rows with replacement. Since a metric is a function of sums over rows, its value on a resample is
f(counts · statistics), where counts holds how often each row was drawn. No text is compared twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.metrics.metric import OutputMetric, RowMetric, Table, as_references

CHUNK = 256


@dataclass(frozen=True)
class ConfidenceInterval:
    """The value on all rows; low and high bound the middle `level` of the resamples. They are NaN for a single row,
    whose resamples are all the same."""

    value: float
    low: float
    high: float
    level: float
    samples: int

    def __str__(self) -> str:
        return f"{self.value:.4g} [{bounds(self.low, self.high, ', ')}]"


def bounds(low: float, high: float, between: str = " … ") -> str:
    """The bounds of an interval, as a table shows them."""
    return "one row, no interval" if low != low else f"{low:.4g}{between}{high:.4g}"


def known(bound: float) -> float | None:
    """A bound for JSON, which has no NaN: None if a single row gives no interval."""
    return None if bound != bound else bound


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same rows.

    difference   second minus first, with its interval
    p_value      two-sided: the share of resamples with a difference at least as large, after their differences are
                 shifted to mean zero, (count + 1) / (samples + 1)
    wins         the share of resamples on which the second system is strictly better
    """

    first: ConfidenceInterval
    second: ConfidenceInterval
    difference: ConfidenceInterval
    p_value: float
    wins: float


def confidence_interval(
    metric: OutputMetric,
    predictions: Sequence[Any],
    references: Sequence[Any],
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 1,
) -> ConfidenceInterval:
    """The metric with the interval that contains `level` of the resamples."""
    lines = metric.statistics(predictions, as_references(predictions, references))
    return interval_of(metric, lines, samples=samples, level=level, seed=seed)


def interval_of(
    metric: RowMetric, lines: Table, *, samples: int = 1000, level: float = 0.95, seed: int = 1
) -> ConfidenceInterval:
    """The same from the statistics (n, k) of the rows."""
    (values,) = _resample(metric, [lines], samples, seed)
    return _interval(metric.value(lines.sum(axis=0)), values, level, len(lines))


def compare(
    metric: OutputMetric,
    first: Sequence[Any],
    second: Sequence[Any],
    references: Sequence[Any],
    *,
    samples: int = 1000,
    level: float = 0.95,
    seed: int = 1,
) -> Comparison:
    """Paired bootstrap: both systems are measured on the same resamples."""
    tables = [metric.statistics(system, as_references(system, references)) for system in (first, second)]
    one, two = _resample(metric, tables, samples, seed)
    value_one, value_two = (metric.value(table.sum(axis=0)) for table in tables)
    observed, differences = value_two - value_one, two - one
    as_large = np.abs(differences - differences.mean()) >= abs(observed) - 1e-12
    better = differences > 0 if metric.higher_is_better else differences < 0
    return Comparison(
        _interval(value_one, one, level, len(tables[0])),
        _interval(value_two, two, level, len(tables[0])),
        _interval(observed, differences, level, len(tables[0])),
        float((as_large.sum() + 1) / (samples + 1)),
        float(better.mean()),
    )


def _resample(metric: RowMetric, tables: Sequence[Table], samples: int, seed: int) -> list[Table]:
    """For each table (n, k), the metric on the same `samples` resamples, (samples,)."""
    if samples < 1:
        raise RegardError(f"expected at least one resample, received {samples}.")
    n = len(tables[0])
    generator = np.random.default_rng(seed)
    values: list[list[float]] = [[] for _ in tables]
    for first in range(0, samples, CHUNK):
        drawn = generator.integers(n, size=(min(CHUNK, samples - first), n))
        counts = np.stack([np.bincount(line, minlength=n) for line in drawn]).astype(np.float64)  # (chunk, n)
        for table, found in zip(tables, values, strict=True):
            found += [metric.value(sums) for sums in counts @ table]
    return [np.array(found) for found in values]


def _interval(value: float, resampled: Table, level: float, rows: int) -> ConfidenceInterval:
    if rows < 2:
        return ConfidenceInterval(value, float("nan"), float("nan"), level, len(resampled))
    tail = 100.0 * (1.0 - level) / 2.0
    low, high = np.percentile(resampled, [tail, 100.0 - tail])
    return ConfidenceInterval(value, float(low), float(high), level, len(resampled))
