"""ROUGE of summaries (Lin 2004), as the package rouge-score computes it without stemming.

    ROUGE-N = F₁ of the n-grams that prediction and reference share, counted with multiplicity
    ROUGE-L = F₁ of the longest common subsequence of words

of lower-cased words of a–z and 0–9, separated by anything else; the mean over all rows, from 0 to 100. Of several
references, the best one counts for each row.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from rapidfuzz.distance import LCSseq

from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register

GAP = re.compile(r"[^a-z0-9]+")
KINDS = ("rouge1", "rouge2", "rougeL")


def rouge_words(text: str) -> list[str]:
    """The words that ROUGE compares."""
    return [word for word in GAP.split(text.lower()) if word]


@register("metric", "rougeN")
class ROUGE(OutputMetric):
    """ROUGE-1, ROUGE-2 or ROUGE-L, from 0 to 100: the family `rouge1`, `rouge2`, `rougeL`."""

    family = "|".join(KINDS)
    suits = ("text",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    @property
    def name(self) -> str:
        return self.kind

    @classmethod
    def named(cls, name: str) -> ROUGE | None:
        return cls(name) if name in KINDS else None

    @classmethod
    def members(cls) -> tuple[str, ...]:
        return KINDS

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): F₁ of the best reference, and 1."""
        lines = []
        for text, row in zip(predictions, references, strict=True):
            words = rouge_words(text)
            lines.append([max(self._f1(words, rouge_words(reference)) for reference in row), 1.0])
        return np.asarray(lines, dtype=np.float64)

    def value(self, sums: Table) -> float:
        return 100.0 * super().value(sums)

    def describe(self, count: str) -> str:
        return f"ROUGE-{self.kind[5:]} F1|mean of rows|lower-cased a-z0-9, no stemming|best of {count} references"

    def _f1(self, words: Sequence[str], reference: Sequence[str]) -> float:
        if self.kind == "rougeL":
            return _f1(LCSseq.similarity(words, reference), len(words), len(reference))
        order = int(self.kind[5:])
        mine, theirs = ngrams(words, order), ngrams(reference, order)
        return _f1((mine & theirs).total(), mine.total(), theirs.total())


def ngrams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    """The frequency of each n-gram of this order."""
    return Counter(zip(*(words[start:] for start in range(order)), strict=False))


def _f1(shared: int, mine: int, theirs: int) -> float:
    return 2 * shared / (mine + theirs) if shared else 0.0
