"""Accuracy of node labels in trees, as for the Stanford Sentiment Treebank (Socher et al. 2013).

    root_accuracy   the share of trees whose root has the correct label
    node_accuracy   the share of nodes, including words and root, with the correct label

Nodes without a true label do not count. A prediction with another number of nodes has no correct ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from regard.data.brackets import BracketError, read_brackets
from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register


def _labels(tree: Any) -> list[str]:
    """The labels of all nodes in post-order, empty for unlabeled ones; an empty list for a text that is not a tree."""
    try:
        return list(read_brackets(str(tree)).labels)
    except BracketError:
        return []


@register("metric", "node_accuracy")
class NodeAccuracy(OutputMetric):
    """The share of labeled nodes that are correct."""

    suits = ("brackets",)
    what = "share of right labels of all nodes"

    def chosen(self, labels: Sequence[str]) -> list[int]:
        """The nodes that count."""
        return [place for place, label in enumerate(labels) if label]

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): correct nodes, and nodes, for the best-matching reference."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine, candidates = _labels(prediction), []
            for true in map(_labels, row):
                nodes = self.chosen(true)
                right = sum(mine[place] == true[place] for place in nodes) if len(mine) == len(true) else 0
                candidates.append((float(right), float(len(nodes))))
            lines.append(max(candidates, key=lambda pair: pair[0] / pair[1] if pair[1] else 0.0))
        return np.array(lines)

    def describe(self, count: str) -> str:
        return f"{self.what}|refs:{count}"


@register("metric", "root_accuracy")
class RootAccuracy(NodeAccuracy):
    """The share of trees whose root is correct."""

    what = "share of right labels of roots"

    def chosen(self, labels: Sequence[str]) -> list[int]:
        return [len(labels) - 1] if labels and labels[-1] else []
