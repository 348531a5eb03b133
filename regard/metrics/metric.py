"""A metric of a corpus as a function of sums over its rows.

    value = f(Σ_rows statistics(row))

BLEU is one (its n-gram counts add up), so are error rates (edits and lengths add up) and shares. Written this way a
metric on any part of a corpus, by length or resampled, costs one sum and no new comparison of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from regard.errors import RegardError
from regard.metrics.result import Score

Table = NDArray[np.float64]
References = Sequence[Sequence[str]]
"""For each row one or more references; rows may differ in how many they have."""


@dataclass(frozen=True)
class Metric:
    """A metric by its two halves.

    statistics   predictions, references → (n, k), one line of numbers for each row
    value        (k,) the sum of some of these lines → the metric on those rows
    describe     how many references a row has ("1", "3", "var" where they differ) → signature
    """

    name: str
    statistics: Callable[[Sequence[str], References], Table]
    value: Callable[[Table], float]
    describe: Callable[[str], str]
    higher_is_better: bool = True

    def __call__(self, predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> Score:
        several = as_references(predictions, references)
        counts = {len(row) for row in several}
        signature = self.describe(str(counts.pop()) if len(counts) == 1 else "var")
        value = self.value(self.statistics(predictions, several).sum(axis=0))
        return Score(self.name, value, len(predictions), self.higher_is_better, signature)

    def rows(self, predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> list[float]:
        """The metric on each row alone."""
        return [
            self.value(line) for line in self.statistics(predictions, as_references(predictions, references))
        ]


def as_references(predictions: Sequence[str], references: Sequence[str | Sequence[str]]) -> References:
    """One list of references per prediction; a lone string is a list of one."""
    if isinstance(predictions, str) or len(predictions) != len(references):
        counts = f"{len(predictions)} predictions and {len(references)} rows of references"
        raise RegardError(f"a metric needs as many rows of references as predictions, and got {counts}.")
    if not predictions:
        raise RegardError("there is nothing to measure: no predictions.")
    several = [[row] if isinstance(row, str) else list(row) for row in references]
    for number, row in enumerate(several):
        if not row:
            raise RegardError("this row has no reference.", where=f"row {number + 1}")
    return several


def ratio(sums: Table) -> float:
    """sums[0] / sums[1], the value of a share or a rate; none of nothing is 0, some of nothing infinite."""
    part, whole = float(sums[0]), float(sums[1])
    if whole == 0.0:
        return 0.0 if part == 0.0 else float("inf")
    return part / whole
