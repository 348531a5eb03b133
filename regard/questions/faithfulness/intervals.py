"""Bootstrap intervals of means over pieces, resampling whole answers, whose pieces are not independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.data.ragged import Array

SAMPLES = 1000
LEVEL = 0.95


@dataclass(frozen=True)
class BootstrapInterval:
    """A mean over `count` pieces; low and high bound the middle 95 % of the resamples, NaN if there is one row."""

    value: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return (
            f"{self.value:.3f}"
            if self.low != self.low
            else f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values; NaN, which JSON does not have, as None."""
        return {name: None if value != value else value for name, value in vars(self).items()}


def resampled_rows(rows: int, seed: int, samples: int = SAMPLES) -> Array:
    """(samples, rows) how often each row is drawn in each resample."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(rows, np.full(rows, 1.0 / rows), size=samples).astype(np.float64)


def mean_interval(sums: Array, counts: Array, minus: Array | None = None) -> BootstrapInterval:
    """The mean Σ value / Σ number of rows (n, 2) with its interval; with `minus`, the difference of two means on the
    same resamples."""
    value, values = _means(sums, counts)
    if minus is not None:
        less, lesses = _means(minus, counts)
        value, values = value - less, values - lesses
    found = values[np.isfinite(values)]
    if int((sums[:, 1] > 0).sum()) < 2 or not len(found):
        return BootstrapInterval(value, float("nan"), float("nan"), int(sums[:, 1].sum()))
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(found, [tail, 100.0 - tail])
    return BootstrapInterval(value, float(low), float(high), int(sums[:, 1].sum()))


def _means(sums: Array, counts: Array) -> tuple[float, Array]:
    total = sums.sum(0)
    drawn = counts @ sums  # (samples, 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(total[0] / total[1]) if total[1] else float("nan"), drawn[:, 0] / drawn[:, 1]
