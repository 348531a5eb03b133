"""Metrics of ordinal labels, whose classes have an order.

rank_error   the mean of |rank predicted − rank true|
kappa        1 − Σ_ij w_ij O_ij / Σ_ij w_ij E_ij,  w_ij = (i − j)², O the confusion matrix, E its value if predictions
             and truth were independent (Cohen 1968); 1 is perfect, 0 chance
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.metrics.metric import Inference, OutputMetric, References, Score, Table, as_references
from regard.parts import register


class RankMetric(OutputMetric):
    """A function of the confusion matrix of ordered classes, whose order the output column knows."""

    suits = ("ordinal",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, C²): the cell of each row in the confusion matrix; without a column, classes are in the order of numbers,
        or else of the alphabet."""
        return confusions(
            predictions, references, ordered({*predictions, *(one for row in references for one in row)})
        )

    def lines(self, inference: Inference) -> Table:
        values = [answer.value for answer in inference.predictions]
        return confusions(values, inference.references, self._order(inference))

    def measure(self, inference: Inference) -> Score | None:
        lines = self.lines(inference)
        found = self([answer.value for answer in inference.predictions], inference.references)
        return Score(self.name, self.checked_value(lines.sum(0)), len(lines), found.signature)

    def _order(self, inference: Inference) -> list[str]:
        column: Any = inference.output.column
        unseen = {one for row in inference.references for one in row} - set(column.classes)
        return [*column.classes, *sorted(unseen)]


@register("metric", "rank_error")
class RankError(RankMetric):
    """The mean distance between the predicted and the true class, counted in classes. Baseline: the median class."""

    higher_is_better = False
    baseline_name = "majority baseline"

    def value(self, sums: Table) -> float:
        table = _square(sums)
        rank = np.arange(len(table))
        return float((table * np.abs(rank[:, None] - rank)).sum() / max(table.sum(), 1.0))

    def baseline(self, inference: Inference) -> Score | None:
        """Always the median class of the training data."""
        column: Any = inference.output.column
        if not getattr(column, "counts", None):
            return None
        middle = int(np.searchsorted(np.cumsum(column.counts), sum(column.counts) / 2))
        always = [column.classes[middle]] * len(inference.references)
        lines = confusions(always, inference.references, self._order(inference))
        return Score(self.name, self.value(lines.sum(0)), len(lines), f"always {column.classes[middle]!r}")

    def describe(self, count: str) -> str:
        return f"mean absolute error in classes|refs:{count}"


@register("metric", "kappa")
class QuadraticKappa(RankMetric):
    """Cohen's kappa with quadratic weights: agreement beyond chance, weighted by the squared distance."""

    def value(self, sums: Table) -> float:
        table = _square(sums)
        rank = np.arange(len(table))
        weights = (rank[:, None] - rank) ** 2.0
        expected = table.sum(1)[:, None] * table.sum(0) / max(table.sum(), 1.0)
        chance = float((weights * expected).sum())
        return 1.0 - float((weights * table).sum()) / chance if chance else 1.0

    def describe(self, count: str) -> str:
        return f"quadratic weights|refs:{count}"


def confusions(predictions: Sequence[Any], references: References, classes: Sequence[str]) -> Table:
    """(n, C²): a 1 in the cell [true, predicted] of each row; of several references, the nearest counts."""
    place = {name: number for number, name in enumerate(classes)}
    table = np.zeros((len(predictions), len(classes) ** 2))
    for row, (mine, several) in enumerate(
        zip(predictions, as_references(predictions, references), strict=True)
    ):
        true = min((place[one] for one in several), key=lambda one: abs(one - place[mine]))
        table[row, true * len(classes) + place[mine]] = 1.0
    return table


def ordered(classes: set[Any]) -> list[Any]:
    """Classes in the order of numbers, or else of the alphabet."""
    try:
        return sorted(classes, key=float)
    except ValueError:
        return sorted(classes)


def _square(sums: Table) -> Table:
    side = round(len(sums) ** 0.5)
    return np.reshape(sums, (side, side))
