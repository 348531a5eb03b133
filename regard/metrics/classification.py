"""Metrics of labels, one per row: accuracy, precision, recall, F1, the confusion matrix.

For a label c: precision = correct / predicted as c, recall = correct / truly c, F1 = their harmonic mean; 0/0 counts as
0. Over labels: `macro` is the unweighted mean, `weighted` the mean weighted by support, `micro` the value from the
summed counts (with one label per row: the accuracy).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


@dataclass(frozen=True)
class LabelScore:
    """support: number of rows with this true label."""

    precision: float
    recall: float
    f1: float
    support: int


@dataclass(frozen=True)
class Classification:
    """confusion (C, C): true labels in rows, predicted labels in columns, in the order of `labels`."""

    labels: tuple[str, ...]
    confusion: NDArray[np.int64]

    @property
    def n(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / self.n)

    @property
    def per_label(self) -> dict[str, LabelScore]:
        right, predicted, true = np.diag(self.confusion), self.confusion.sum(0), self.confusion.sum(1)
        return {
            label: _label_score(int(right[c]), int(predicted[c]), int(true[c]))
            for c, label in enumerate(self.labels)
        }

    @property
    def macro(self) -> LabelScore:
        return self._mean(np.ones(len(self.labels)))

    @property
    def weighted(self) -> LabelScore:
        return self._mean(self.confusion.sum(1).astype(np.float64))

    @property
    def micro(self) -> LabelScore:
        return _label_score(int(np.trace(self.confusion)), self.n, self.n)

    def _mean(self, weights: NDArray[np.float64]) -> LabelScore:
        scores = list(self.per_label.values())
        table = np.array([[score.precision, score.recall, score.f1] for score in scores])  # (C, 3)
        precision, recall, f1 = (weights @ table / weights.sum()).tolist()
        return LabelScore(precision, recall, f1, self.n)


def classification(
    predictions: Sequence[str], truth: Sequence[str], *, labels: Sequence[str] | None = None
) -> Classification:
    """Count the pairs of true and predicted label. `labels` fixes their order; default: all that occur, sorted."""
    if len(predictions) != len(truth) or not truth:
        raise RegardError(
            f"expected as many predictions as true labels, received {len(predictions)} and {len(truth)}."
        )
    known = tuple(sorted({*predictions, *truth}) if labels is None else labels)
    place = {label: index for index, label in enumerate(known)}
    unknown = sorted({*predictions, *truth} - set(known))
    if unknown:
        raise RegardError(f"label {unknown[0]!r} is not among {', '.join(known)}.")
    confusion = np.zeros((len(known), len(known)), dtype=np.int64)
    np.add.at(confusion, ([place[label] for label in truth], [place[label] for label in predictions]), 1)
    return Classification(known, confusion)


@register("metric", "macro_f1")
class MacroF1(OutputMetric):
    """The unweighted mean of F1 over all labels that occur in the truth or the predictions."""

    suits = ("label", "multilabel")

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 3·C): for each label, whether it is predicted and correct, predicted, true; for the matching reference,
        if any."""
        pairs = zip(predictions, references, strict=True)
        truth = [prediction if prediction in row else row[0] for prediction, row in pairs]
        mine, theirs = [labels_of(one) for one in predictions], [labels_of(one) for one in truth]
        labels = {name: place for place, name in enumerate(sorted(set().union(*mine, *theirs)))}
        predicted, true = _members(mine, labels), _members(theirs, labels)  # (n, C)
        return np.concatenate([predicted & true, predicted, true], axis=1).astype(np.float64)

    def value(self, sums: Table) -> float:
        right, predicted, true = sums.reshape(3, -1)  # (C,) each
        occurring = predicted + true > 0
        if not occurring.any():
            return 0.0
        return float((2.0 * right[occurring] / (predicted + true)[occurring]).mean())

    def describe(self, count: str) -> str:
        return f"F1, mean over labels that occur|refs:{count}"


def labels_of(value: Any) -> set[str]:
    """The labels of a value: one, or a list or set of several."""
    return {value} if isinstance(value, str) else set(value)


def _members(rows: Sequence[set[str]], labels: Mapping[str, int]) -> NDArray[np.bool_]:
    """(n, C) whether a row has a label."""
    table = np.zeros((len(rows), len(labels)), dtype=bool)
    for row, several in enumerate(rows):
        table[row, [labels[one] for one in several]] = True
    return table


def _label_score(right: int, predicted: int, true: int) -> LabelScore:
    precision = right / predicted if predicted else 0.0
    recall = right / true if true else 0.0
    f1 = 2 * right / (predicted + true) if predicted + true else 0.0
    return LabelScore(precision, recall, f1, true)
