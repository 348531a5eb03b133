"""Errors of numbers; of several references, the nearest counts.

absolute_error   Σ |y − ŷ| / n
rmse             √(Σ (y − ŷ)² / n)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


@register("metric", "absolute_error")
class AbsoluteError(OutputMetric):
    """The mean absolute error."""

    higher_is_better = False
    suits = ("number",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        pairs = zip(predictions, references, strict=True)
        return np.array([[min(abs(value - true) for true in row), 1.0] for value, row in pairs])

    def describe(self, count: str) -> str:
        return f"mean absolute error|refs:{count}"


@register("metric", "rmse")
class RMSE(AbsoluteError):
    """The root mean squared error."""

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        errors: Table = super().statistics(predictions, references) ** 2
        return errors

    def value(self, sums: Table) -> float:
        return math.sqrt(super().value(sums))

    def describe(self, count: str) -> str:
        return f"root mean squared error|refs:{count}"
