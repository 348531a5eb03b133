"""Answers in the order of the rows, independent of the batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from regard.trace.prediction import Prediction


def in_order(answered: Iterable[tuple[Sequence[int], Sequence[Prediction]]]) -> list[Prediction]:
    """One answer for each row, from batches of (rows, answers)."""
    found: dict[int, Prediction] = {}
    for rows, answers in answered:
        found.update(zip(rows, answers, strict=True))
    return [found[row] for row in sorted(found)]
