"""Answers in the order of the rows, however these were cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from regard.data.batch import Batch
from regard.prediction import Prediction


def in_order(batches: Iterable[Batch], answer: Callable[[Batch], list[Prediction]]) -> list[Prediction]:
    """One answer for each row."""
    found: dict[int, Prediction] = {}
    for batch in batches:
        found.update(zip(batch.rows, answer(batch), strict=True))
    return [found[row] for row in sorted(found)]
