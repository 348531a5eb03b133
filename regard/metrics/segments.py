"""Segment F1: whether attention covers all source positions of a target word, and no others.

For every target word whose true source positions are known, the predicted ones are those whose weight reaches a
threshold θ. With P, R the precision and recall of the pairs (source position, target word) over the whole corpus,

    F1 = 2PR / (P + R) = 2 |A ∩ G| / (|A| + |G|),  A predicted, G true

θ is chosen on other rows (dev), for every kind of selection, among 0.01, 0.02, … 0.99, because a softmax distributes a
total of 1 over all positions, whereas marginals of segments go up to 1 each. A weight below 0.01 contributes too little
to the context to count as attention. Without this lower limit, θ would become so small that only the order of the
scores is measured (1e-29 for a softmax over characters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from regard.errors import RegardError
from regard.metrics.alignment import AlignmentMetric, Links, aligned_attention
from regard.metrics.metric import Inference, Score
from regard.parts import register

CANDIDATES = np.arange(1, 100) / 100


@dataclass(frozen=True)
class Threshold:
    """Positions with a weight of at least `value` count as attended; `chosen_on` names the rows it was chosen on."""

    value: float
    chosen_on: str


@register("metric", "segment_f1")
class SegmentF1(AlignmentMetric):
    """F1 of the attended positions; the threshold is chosen on dev, or on the rows themselves if these are dev."""

    def measure(self, inference: Inference) -> Score | None:
        found = inference.once(aligned_attention)
        if found is None:
            return None
        other = inference.dev()
        dev = None if other is None else other.once(aligned_attention)
        if dev is None:
            threshold = best_threshold(found.weights, found.links)
        else:
            threshold = best_threshold(dev.weights, dev.links, chosen_on="dev")
        return segment_f1(found.weights, found.links, threshold)


def segment_f1(weights: Sequence[ArrayLike], links: Sequence[Links], threshold: Threshold) -> Score:
    """F1 of attention weights, one array (T, S) per row, against the true links (source, target)."""
    values, true = _pairs(weights, links)
    looked = values >= threshold.value
    hits, both = int((looked & true).sum()), int(looked.sum() + true.sum())
    signature = (
        f"F1|weight ≥ {threshold.value:.3g} chosen on {threshold.chosen_on}|aligned target words|corpus"
    )
    return Score("segment_f1", 2 * hits / both if both else 0.0, len(weights), signature)


def best_threshold(
    weights: Sequence[ArrayLike], links: Sequence[Links], *, chosen_on: str = "these rows"
) -> Threshold:
    """The candidate with the highest F1 on these rows, the lowest in case of a tie."""
    values, true = _pairs(weights, links)
    looked = [values >= candidate for candidate in CANDIDATES]
    f1 = [2 * int((one & true).sum()) / max(int(one.sum() + true.sum()), 1) for one in looked]
    return Threshold(float(CANDIDATES[int(np.argmax(f1))]), chosen_on)


def _pairs(
    weights: Sequence[ArrayLike], links: Sequence[Links]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """All pairs of an aligned target word and a source position: their weights, and whether they are linked."""
    if len(weights) != len(links) or not len(weights):
        raise RegardError(
            f"expected as many tables of weights as rows of links, received {len(weights)} and {len(links)}."
        )
    values, true = [], []
    for table, known in zip((np.asarray(one, dtype=np.float64) for one in weights), links, strict=True):
        words = sorted({target for _, target in known if target < len(table)})
        wanted = np.zeros(table.shape, dtype=bool)
        for source, target in known:
            if target < len(table):
                wanted[target, source] = True
        values.append(table[words].ravel())
        true.append(wanted[words].ravel())
    found = np.concatenate(values)
    if not len(found):
        raise RegardError("no target word of these rows has a known source: there is nothing to measure.")
    return found, np.concatenate(true)
