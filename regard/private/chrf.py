"""The statistics of sacrebleu's chrF for each row, which it keeps to itself; its significance tests sum them too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from regard.private.feature import Feature, expect

_EXAMPLE = ["the cat sat", "a dog"], ["the cat sits", "one dog"]


def _try() -> Any:
    from sacrebleu.metrics.chrf import CHRF

    predictions, references = _EXAMPLE
    for order in (0, 2):
        scorer = CHRF(word_order=order)
        rows = scorer._extract_corpus_statistics(predictions, [references])
        expect(len(rows) == 2 and len(rows[0]) == 3 * (6 + order), "the statistics of a row")
        summed = scorer._compute_score_from_stats([sum(column) for column in zip(*rows, strict=True)])
        whole = CHRF(word_order=order).corpus_score(predictions, [references])
        expect(abs(summed.score - whole.score) < 1e-9, "the score of summed statistics")
    return True


_statistics = Feature("sacrebleu's statistics of chrF", "chrF cannot be measured", _try)


def chrf_unusable() -> str:
    """Why the installed sacrebleu cannot be used for chrF; empty if it can."""
    return "" if _statistics.get() else _statistics.reason


def chrf_rows(scorer: Any, predictions: Sequence[str], streams: Sequence[Sequence[str | None]]) -> Any:
    """The statistics of each row; streams: the first references, the second ones, …"""
    return scorer._extract_corpus_statistics(predictions, streams)


def chrf_of(scorer: Any, sums: Sequence[int]) -> float:
    """chrF of summed statistics."""
    return float(scorer._compute_score_from_stats(sums).score)
