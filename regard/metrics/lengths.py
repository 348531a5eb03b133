"""A metric by the length of the input, to show where a model starts to fail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.metrics.metric import OutputMetric, RowMetric, Table, as_references
from regard.metrics.significance import bounds, interval_of


@dataclass(frozen=True)
class Bucket:
    """Rows with low ≤ length ≤ high.

    interval   95 % interval of the values on resamples of these rows
    """

    low: int
    high: int
    n: int
    value: float
    mean_length: float
    interval: tuple[float, float]

    @property
    def label(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


@dataclass(frozen=True)
class ByLength:
    """The buckets that have rows, from short to long; `points` holds their mean length and value, for a plot."""

    metric: str
    buckets: tuple[Bucket, ...]

    @property
    def points(self) -> list[tuple[float, float]]:
        return [(bucket.mean_length, bucket.value) for bucket in self.buckets]

    def table(self) -> list[tuple[str, int, float, float, float]]:
        """Lines of (lengths, number of rows, value, bounds of the interval)."""
        return [(bucket.label, bucket.n, bucket.value, *bucket.interval) for bucket in self.buckets]

    def __str__(self) -> str:
        lines = [f"{'length':>10}  {'rows':>7}  {self.metric} [95 %]"]
        for label, n, value, low, high in self.table():
            lines.append(f"{label:>10}  {n:>7}  {value:.4g} [{bounds(low, high, ', ')}]")
        return "\n".join(lines)


def by_length(
    metric: OutputMetric,
    predictions: Sequence[Any],
    references: Sequence[Any],
    lengths: Sequence[int],
    *,
    buckets: int = 8,
    edges: Sequence[int] | None = None,
    samples: int = 1000,
) -> ByLength:
    """The metric on the rows of each range of input lengths, with intervals from `samples` resamples.

    edges     the last length of each bucket, ascending; longer rows form another bucket
    buckets   without edges: number of ranges of about equal width
    """
    if len(lengths) != len(predictions):
        raise RegardError(
            f"expected a length for each of {len(predictions)} predictions, received {len(lengths)}."
        )
    lines = metric.statistics(predictions, as_references(predictions, references))
    return lines_by_length(metric, lines, lengths, buckets=buckets, edges=edges, samples=samples)


def lines_by_length(
    metric: RowMetric,
    lines: Table,
    lengths: Sequence[int],
    *,
    buckets: int = 8,
    edges: Sequence[int] | None = None,
    samples: int = 1000,
) -> ByLength:
    """The same from the statistics (n, k) of the rows."""
    size = np.asarray(lengths, dtype=np.int64)
    shortest, longest = int(size.min()), int(size.max())
    if edges is None:
        edges = sorted({int(edge) for edge in np.linspace(shortest - 1, longest, buckets + 1).round()[1:]})
    found = []
    low = shortest
    for high in [*(edge for edge in edges if edge < longest), longest]:
        inside = (size >= low) & (size <= high)
        if inside.any():
            sure = interval_of(metric, lines[inside], samples=samples)
            bounds = (sure.low, sure.high)
            found.append(Bucket(low, high, int(inside.sum()), sure.value, float(size[inside].mean()), bounds))
        low = max(low, high + 1)
    return ByLength(metric.name, tuple(found))
