"""Metrics of several labels: micro F1, and attention to the words from which each label follows.

    micro F1 = 2 Σ_rows |predicted ∩ true| / Σ_rows (|predicted| + |true|)

`macro_f1` is the mean of the F1 of each label, `exact` the share of rows with exactly the true set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from regard.data.columns.label_words import as_item, label_places
from regard.metrics.classification import labels_of
from regard.metrics.metric import (
    Inference,
    OutputInfo,
    OutputMetric,
    References,
    RowMetric,
    Score,
    Table,
    ratio,
)
from regard.parts import register


@register("metric", "micro_f1")
class MicroF1(OutputMetric):
    """F1 of all labels of all rows together: correct ones against predicted and true ones."""

    suits = ("multilabel",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): twice the correct labels, and predicted plus true ones; for the best-matching reference."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine = labels_of(prediction)
            found = [(2.0 * len(mine & true), float(len(mine) + len(true))) for true in map(labels_of, row)]
            lines.append(max(found, key=lambda one: one[0] / max(one[1], 1.0)))
        return np.array(lines)

    def describe(self, count: str) -> str:
        return f"F1 of all labels together|refs:{count}"


@register("metric", "label_words")
class LabelWords(RowMetric):
    """The share of a label's attention on the words from which it follows, mean over the true labels. Baseline:
    uniform attention."""

    baseline_name = "chance level"

    def refuses(self, output: OutputInfo) -> str | None:
        if output.known("label_words", attended=True):
            return None
        if output.known("label_words"):
            return f"{self.name} measures attention; the decoder of {output.name!r} has none over the input"
        return (
            f"{self.name} needs the words from which each label of {output.name!r} follows, a column of type "
            "label_words in `truth`"
        )

    def measure(self, inference: Inference) -> Score | None:
        lines = self.lines(inference)
        if lines is None or not lines[:, 1].sum():
            return None
        return Score(self.name, ratio(lines.sum(0)), len(lines), "share of a label's attention on its words")

    def lines(self, inference: Inference) -> Table | None:
        found = inference.once(label_shares)
        return np.array([(looked, count) for looked, _, count in found]) if found else None

    def baseline(self, inference: Inference) -> Score | None:
        found = inference.once(label_shares)
        count = sum(labels for _, _, labels in found)
        if not count:
            return None
        chance = sum(evenly for _, evenly, _ in found) / count
        return Score(self.name, chance, len(found), "uniform attention")


def label_shares(inference: Inference) -> list[tuple[float, float, float]]:
    """For each row: the summed shares of attention on the words of its labels, the same for uniform attention, and the
    number of labels with words."""
    known = inference.output.known("label_words", attended=True)
    found = []
    for row, trace in inference.traces() if known else ():
        for name, column in known.items():
            glimpses = trace.glimpses.get(name)
            if glimpses is not None:
                places = label_places(inference.raw(row)[column])
                pairs = list(_shares(glimpses.weights, glimpses.names, places))
                found.append((sum(one for one, _ in pairs), sum(one for _, one in pairs), float(len(pairs))))
    return found


def _shares(
    weights: Any, names: Sequence[str], places: Sequence[tuple[str, int]]
) -> Iterator[tuple[float, float]]:
    """For each label with words: the share of its attention on them, and that of uniform attention."""
    rows = {as_item(name): weights[number] for number, name in enumerate(names)}
    for label in dict.fromkeys(label for label, _ in places):
        if label in rows:
            mine = sorted({place for one, place in places if one == label})
            total = float(rows[label].sum())
            yield float(rows[label][mine].sum()) / total if total else 0.0, len(mine) / len(rows[label])
