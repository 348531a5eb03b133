"""Error rates: the fewest insertions, deletions and substitutions that turn a prediction into its reference.

    rate = Σ_rows distance(prediction, nearest reference) / Σ_rows length(that reference)

`wer` compares words, `per` phonemes (both separated by blanks), `cer` characters, blanks included. The nearest
of several references is the one with the smallest distance, the longest of these if there is a choice. A rate
can exceed 1. The share of *rows* that are wrong at all, in work on pronunciation also called word error rate, is
`word_error`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein

from regard.metrics.metric import Metric, References, Table, ratio


def nearest(prediction: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[int, int]:
    """(distance, length of the reference) for the nearest reference."""
    best: tuple[int, int] | None = None
    for reference in references:
        distance = Levenshtein.distance(prediction, reference)
        if best is None or (distance, -len(reference)) < (best[0], -best[1]):
            best = (distance, len(reference))
    if best is None:
        raise ValueError("expected at least one reference, received none.")
    return best


def _edits(pieces: Callable[[str], Sequence[str]]) -> Callable[[Sequence[str], References], Table]:
    def statistics(predictions: Sequence[str], references: References) -> Table:
        """(n, 2): edits, and length of the nearest reference."""
        lines = [
            nearest(pieces(prediction), [pieces(reference) for reference in row])
            for prediction, row in zip(predictions, references, strict=True)
        ]
        return np.array(lines, dtype=np.float64)

    return statistics


def _rate(name: str, unit: str, pieces: Callable[[str], Sequence[str]]) -> Metric:
    return Metric(
        name,
        _edits(pieces),
        ratio,
        lambda count: f"{unit} edits / {unit}s of the nearest|refs:{count}",
        False,
    )


wer = _rate("wer", "word", str.split)
"""Word error rate of sentences."""

cer = _rate("cer", "character", str)
"""Character error rate."""

per = _rate("per", "phoneme", str.split)
"""Phoneme error rate."""
