"""Accuracy of tags, and F1 of the spans that they mark.

    precision = correct / predicted,  recall = correct / true,  F1 = 2 · correct / (predicted + true)

over the whole corpus. A span is correct if its first token, its last token and its kind are. Tags may be IOB1, BIO or
BIOES; spans are read by the rules of conlleval.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.data.columns.spans import spans
from regard.metrics.metric import Inference, OutputMetric, References, Score, Table, pieces
from regard.parts import register


@register("metric", "tag_accuracy")
class TagAccuracy(OutputMetric):
    """The share of positions with the correct tag; missing and superfluous tags are wrong."""

    baseline_name = "majority baseline"
    suits = ("tags",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): equal tags at equal positions, and positions (of the longer), for the best-matching reference."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine, candidates = pieces(prediction), []
            for reference in row:
                tags = pieces(reference)
                same = sum(a == b for a, b in zip(mine, tags, strict=False))
                candidates.append((float(same), float(max(len(mine), len(tags)))))
            lines.append(max(candidates, key=lambda pair: (pair[0] - pair[1], pair[0])))
        return np.array(lines)

    def describe(self, count: str) -> str:
        return f"share of positions right|refs:{count}"

    def baseline(self, inference: Inference) -> Score | None:
        """Always the most frequent tag of the training data."""
        column: Any = inference.output.column
        if not getattr(column, "counts", None):
            return None
        tag = column.classes[column.counts.index(max(column.counts))]
        truth = [column.reference(inference.raw(row)[column.name]) for row in range(len(inference))]
        share = self([[tag] * len(tags) for tags in truth], [[tags] for tags in truth]).value
        return Score(self.name, share, len(truth), f"accuracy of always {tag!r}")


@register("metric", "chunk_f1")
class ChunkF1(OutputMetric):
    """F1 of the spans that tags mark, such as chunks or names."""

    suits = ("tags",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 3): correct, predicted and true spans, for the best-matching reference."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine = set(spans(pieces(prediction)))
            counts = [
                (float(len(mine & true)), float(len(mine)), float(len(true)))
                for true in (set(spans(pieces(reference))) for reference in row)
            ]
            lines.append(max(counts, key=lambda found: (2 * found[0] - found[2], found[0])))
        return np.array(lines)

    def value(self, sums: Table) -> float:
        right, found, true = sums.tolist()
        return float(2.0 * right / (found + true)) if found + true else 0.0

    def describe(self, count: str) -> str:
        return f"F1 of spans|conlleval conventions|corpus|refs:{count}"
