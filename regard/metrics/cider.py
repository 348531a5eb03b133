"""CIDEr-D: agreement of a caption with the consensus of its references (Vedantam, Zitnick, Parikh 2015).

With h_k(s) the frequency of the n-gram k in a caption s, and the idf of k over the R evaluated rows,

    g_k(s) = h_k(s) · (log R − log max(1, rows with k in one of their references))

    CIDEr-D_n(c, S) = (10 / |S|) Σ_{s∈S} e^{−(l(c) − l(s))² / 2σ²} · Σ_k min(g_k(c), g_k(s)) g_k(s) / (‖g(c)‖ ‖g(s)‖)

and CIDEr-D is the mean over n = 1 … 4, with σ = 6 and l the number of words. It ranges from 0 to 10. An n-gram in the
references of every image counts nothing, and a repeated word gains nothing (because of the min). Document frequencies
come from the references of the evaluated split, so scores of different splits do not compare; on a single row the score
is 0. Words are those of BLEU for captions: lower-cased, without punctuation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from regard.metrics.captions import caption_words
from regard.metrics.metric import OutputMetric, References, Table
from regard.parts import register

ORDERS = (1, 2, 3, 4)
SIGMA = 6.0

Gram = tuple[str, ...]
Grams = list[Counter[Gram]]
"""For each n, the frequency of each n-gram."""


def _grams(text: str) -> Grams:
    words = caption_words(text)
    return [Counter(tuple(words[start : start + n]) for start in range(len(words) - n + 1)) for n in ORDERS]


def _rarity(references: Sequence[Sequence[Grams]]) -> dict[Gram, float]:
    """log R − log df of every n-gram in the references; other n-grams have log R."""
    rows: Counter[Gram] = Counter()
    for row in references:
        rows.update({gram for grams in row for counts in grams for gram in counts})
    everywhere = math.log(len(references))
    return {gram: everywhere - math.log(count) for gram, count in rows.items()}


def _similarity(candidate: Grams, reference: Grams, rarity: Mapping[Gram, float], unseen: float) -> float:
    """The mean over n of the clipped cosine similarity, discounted by the difference of lengths."""
    total = 0.0
    for ours, theirs in zip(candidate, reference, strict=True):
        g_c = {gram: count * rarity.get(gram, unseen) for gram, count in ours.items()}
        g_s = {gram: count * rarity[gram] for gram, count in theirs.items()}
        norms = math.hypot(*g_c.values()) * math.hypot(*g_s.values())
        if norms > 0.0:
            total += sum(min(g_c[gram], g_s[gram]) * g_s[gram] for gram in g_c if gram in g_s) / norms
    difference = candidate[0].total() - reference[0].total()
    return total / len(ORDERS) * math.exp(-(difference**2) / (2.0 * SIGMA**2))


@register("metric", "cider")
class CIDEr(OutputMetric):
    """Corpus CIDEr-D, the mean over rows, from 0 to 10; published tables often multiply it by 100."""

    suits = ("text",)

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): CIDEr-D of the row, and 1."""
        told = [[_grams(text) for text in row] for row in references]
        rarity, unseen = _rarity(told), math.log(len(told))
        scores = []
        for prediction, row in zip(predictions, told, strict=True):
            candidate = _grams(prediction)
            similar = [_similarity(candidate, reference, rarity, unseen) for reference in row]
            scores.append(10.0 * sum(similar) / len(row))
        return np.stack([np.array(scores), np.ones(len(scores))], axis=1)

    def describe(self, count: str) -> str:
        return f"CIDEr-D, n 1–4, σ 6, ×10, idf of these references|lower-cased words|refs:{count}"
