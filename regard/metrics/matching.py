"""Right or wrong: a prediction is right when it equals any of its references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.metrics.metric import Metric, References, Table, ratio


def _matches(predictions: Sequence[str], references: References) -> Table:
    """(n, 2): right or not, and one."""
    right = [float(prediction in row) for prediction, row in zip(predictions, references, strict=True)]
    return np.stack([np.array(right), np.ones(len(right))], axis=1)


def _misses(predictions: Sequence[str], references: References) -> Table:
    lines = _matches(predictions, references)
    return np.stack([1.0 - lines[:, 0], lines[:, 1]], axis=1)


def _tag_matches(predictions: Sequence[str], references: References) -> Table:
    """(n, 2): equal tags at equal positions, and positions (of the longer text), for the reference that fits best."""
    lines = []
    for prediction, row in zip(predictions, references, strict=True):
        mine = prediction.split()
        candidates = []
        for reference in row:
            tags = reference.split()
            same = sum(a == b for a, b in zip(mine, tags, strict=False))
            candidates.append((float(same), float(max(len(mine), len(tags)))))
        lines.append(max(candidates, key=lambda pair: (pair[0] - pair[1], pair[0])))
    return np.array(lines)


def _before_failure(predictions: Sequence[str], references: References) -> Table:
    """(n, 2): the share of the reference's words before the first mistake, and one; the best reference counts."""
    shares = []
    for prediction, row in zip(predictions, references, strict=True):
        mine = prediction.split()
        shares.append(max(_right_beginning(mine, reference.split()) for reference in row))
    return np.stack([np.array(shares), np.ones(len(shares))], axis=1)


def _right_beginning(words: Sequence[str], reference: Sequence[str]) -> float:
    pairs = enumerate(zip(words, reference, strict=False))
    right = next((place for place, (mine, true) in pairs if mine != true), min(len(words), len(reference)))
    return right / len(reference) if reference else float(not words)


exact = Metric("exact", _matches, ratio, lambda count: f"exact match|refs:{count}")
"""The share of predictions equal to one of their references."""

accuracy = Metric("accuracy", _matches, ratio, lambda count: f"accuracy|refs:{count}")
"""The same of labels."""

word_error = Metric("word_error", _misses, ratio, lambda count: f"share of rows wrong|refs:{count}", False)
"""1 − exact. In work on pronunciation this is called word error rate: a word is wrong or it is not."""

tag_accuracy = Metric(
    "tag_accuracy", _tag_matches, ratio, lambda count: f"share of positions right|refs:{count}"
)
"""The share of positions with the right tag; a missing or superfluous tag is a wrong one."""

before_failure = Metric(
    "before_failure",
    _before_failure,
    ratio,
    lambda count: f"share of words before the first mistake|refs:{count}",
)
"""The mean share of an output that is right before the first wrong word (Grefenstette et al. 2015); what comes after
the end of a reference does not count."""
