"""What one gets for nothing: the accuracy of guessing, and of always saying the commonest label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from regard.errors import RegardError
from regard.metrics.result import Score


def majority(truth: Sequence[str], *, training: Sequence[str] | None = None) -> Score:
    """Always the label commonest in `training` (in `truth` itself if absent); of equals the first in the alphabet."""
    _not_empty(truth)
    counts = Counter(truth if training is None else training)
    label = min(counts, key=lambda name: (-counts[name], name))
    share = sum(true == label for true in truth) / len(truth)
    return Score("majority", share, len(truth), True, f"accuracy of always {label!r}")


def chance(truth: Sequence[str], *, labels: int | None = None) -> Score:
    """The expected accuracy of guessing evenly among the labels: 1 / C."""
    _not_empty(truth)
    count = len(set(truth)) if labels is None else labels
    return Score(
        "chance", 1.0 / count, len(truth), True, f"expected accuracy of guessing among {count} labels"
    )


def _not_empty(truth: Sequence[str]) -> None:
    if not truth:
        raise RegardError("a baseline needs at least one true label, and got none.")
