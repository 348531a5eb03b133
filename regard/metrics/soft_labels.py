"""Cross-entropy of soft labels: how far the probabilities of a model are from the true shares of the classes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from regard.metrics.metric import Inference, RowMetric, Score, Table
from regard.parts import register

LEAST = 1e-30


@register("metric", "cross_entropy")
class CrossEntropy(RowMetric):
    """−Σ_c y_c log p_c, the mean over rows, in nats; at least the entropy of the true shares y, which the signature
    names."""

    higher_is_better = False
    suits = ("soft-label",)

    def lines(self, inference: Inference) -> Table | None:
        """(n, 3): −Σ_c y_c log p_c, 1, and the entropy of y."""
        column: Any = inference.output.column
        found = []
        for row, answer in enumerate(inference.predictions):
            shares = column.shares(inference.raw(row)[column.name])
            likely = answer.probabilities or {}
            cost = -sum(
                share * math.log(max(likely.get(name, 0.0), LEAST)) for name, share in shares.items() if share
            )
            found.append([cost, 1.0, -sum(share * math.log(share) for share in shares.values() if share)])
        return np.array(found) if found else None

    def value(self, sums: Table) -> float:
        return float(sums[0] / sums[1])

    def measure(self, inference: Inference) -> Score | None:
        lines = self.lines(inference)
        if lines is None:
            return None
        sums = lines.sum(axis=0)
        told = f"−Σ y log p per row, nats|entropy of the truth {sums[2] / sums[1]:.4g}"
        return Score(self.name, self.checked_value(sums), len(lines), told)
