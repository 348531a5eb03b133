"""The mean absolute error of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import regard
from regard.metrics import References, Table


@regard.register("metric", "amount_error")
class AmountError(regard.metrics.OutputMetric):
    """Σ |y − ŷ| / n; of several references the nearest."""

    higher_is_better = False
    suits = ("amount",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        pairs = zip(predictions, references, strict=True)
        return np.array([[min(abs(value - true) for true in row), 1.0] for value, row in pairs])

    def describe(self, count: str) -> str:
        return f"mean absolute error|refs:{count}"
