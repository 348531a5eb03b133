"""Error rates: the minimum number of insertions, deletions and substitutions from a prediction to its reference.

    rate = Σ_rows distance(prediction, nearest reference) / Σ_rows length(that reference)

`wer` compares words, `per` phonemes, `token_error` symbols of any kind (all separated by blanks), `cer` characters,
including blanks. The nearest of several references has the smallest distance, the longest in case of a tie. A rate can
exceed 1. `word_error` is the share of wrong *rows*, which work on pronunciation also calls word error rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from rapidfuzz.distance import Levenshtein

from regard.metrics.metric import OutputMetric, References, Table, pieces
from regard.parts import register


class ErrorRate(OutputMetric):
    """Edit distance divided by the length of the nearest reference, in some unit."""

    higher_is_better = False
    suits = ("text",)
    unit: ClassVar[str]

    def cut(self, text: str) -> Sequence[str]:
        """The units of a text."""
        return pieces(text)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): edit distance, and length of the nearest reference."""
        lines = [
            nearest(self.cut(prediction), [self.cut(reference) for reference in row])
            for prediction, row in zip(predictions, references, strict=True)
        ]
        return np.array(lines, dtype=np.float64)

    def describe(self, count: str) -> str:
        return f"{self.unit} edits / {self.unit}s of the nearest|refs:{count}"


@register("metric", "wer")
class WordErrorRate(ErrorRate):
    """Word error rate of sentences."""

    unit = "word"


@register("metric", "per")
class PhonemeErrorRate(ErrorRate):
    """Phoneme error rate."""

    unit = "phoneme"


@register("metric", "token_error")
class TokenErrorRate(ErrorRate):
    """Token error rate, for symbols separated by blanks that are neither words nor phonemes, or of unknown kind."""

    unit = "token"


@register("metric", "cer")
class CharacterErrorRate(ErrorRate):
    """Character error rate."""

    unit = "character"

    def cut(self, text: str) -> Sequence[str]:
        return text


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
