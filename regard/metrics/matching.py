"""Exact match: a prediction is correct if it equals any of its references."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.errors import RegardError
from regard.metrics.metric import Inference, OutputMetric, References, Score, Table, pieces
from regard.parts import register


@register("metric", "exact")
class Exact(OutputMetric):
    """The share of predictions that equal one of their references."""

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): whether the prediction is correct, and 1."""
        right = [float(prediction in row) for prediction, row in zip(predictions, references, strict=True)]
        return np.stack([np.array(right), np.ones(len(right))], axis=1)

    def describe(self, count: str) -> str:
        return f"exact match|refs:{count}"


@register("metric", "accuracy")
class Accuracy(Exact):
    """The share of correct labels. Baseline: the majority class."""

    baseline_name = "majority baseline"
    suits = ("label",)

    def describe(self, count: str) -> str:
        return f"accuracy|refs:{count}"

    def baseline(self, inference: Inference) -> Score | None:
        """Always the most frequent class of the training data."""
        column: Any = inference.output.column
        if not getattr(column, "counts", None):
            return None
        commonest = column.classes[column.counts.index(max(column.counts))]
        truth = [column.reference(inference.raw(row)[column.name]) for row in range(len(inference))]
        return majority(truth, training=[commonest])


@register("metric", "word_error")
class WordError(Exact):
    """1 − exact. Work on pronunciation calls this word error rate."""

    higher_is_better = False
    suits = ("text",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        lines = super().statistics(predictions, references)
        return np.stack([1.0 - lines[:, 0], lines[:, 1]], axis=1)

    def describe(self, count: str) -> str:
        return f"share of rows wrong|refs:{count}"


@register("metric", "before_failure")
class BeforeFailure(OutputMetric):
    """The mean share of an output before its first wrong word (Grefenstette et al. 2015).

    Words after the end of a reference do not count; of several references, the best one counts.
    """

    suits = ("text",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): the share of the reference's words before the first error, and 1."""
        shares = [
            max(_right_beginning(pieces(prediction), pieces(reference)) for reference in row)
            for prediction, row in zip(predictions, references, strict=True)
        ]
        return np.stack([np.array(shares), np.ones(len(shares))], axis=1)

    def describe(self, count: str) -> str:
        return f"share of words before the first mistake|refs:{count}"


def _right_beginning(words: Sequence[str], reference: Sequence[str]) -> float:
    pairs = enumerate(zip(words, reference, strict=False))
    right = next((place for place, (mine, true) in pairs if mine != true), min(len(words), len(reference)))
    return right / len(reference) if reference else float(not words)


def majority(truth: Sequence[str], *, training: Sequence[str] | None = None) -> Score:
    """Always the most frequent label in `training` (default: in `truth`), ties in alphabetical order."""
    if not truth:
        raise RegardError("a baseline needs at least one true label, received none.")
    counts = Counter(truth if training is None else training)
    label = min(counts, key=lambda name: (-counts[name], name))
    share = sum(true == label for true in truth) / len(truth)
    return Score("majority", share, len(truth), f"accuracy of always {label!r}")
