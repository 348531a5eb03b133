"""Alignment error rate: how well attention agrees with the true alignment.

With S the sure links, P ⊇ S the possible ones and A the predicted ones (Och and Ney 2003):

    AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|)

summed over the whole corpus; 0 is perfect. A link (s, t) joins source position s and target position t, both from 0.
Attention weights (T, S) become links by taking the source position with the largest weight for every target word.
Target words without a sure or possible link are left out, because their alignment is unknown, unless `all_words` is
set.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, OutputInfo, RowMetric, Score, Table, ratio
from regard.parts import register

Links = AbstractSet[tuple[int, int]]


@dataclass
class AlignedAttention:
    """The weights (T, S) of each row, and its true links (source, target)."""

    weights: list[Any] = field(default_factory=list)
    links: list[set[tuple[int, int]]] = field(default_factory=list)


class AlignmentMetric(Metric):
    """A metric that compares attention with a true alignment; available for every selection."""

    def refuses(self, output: OutputInfo) -> str | None:
        if output.known("alignment", attended=True):
            return None
        if output.known("alignment"):
            return f"{self.name} measures attention; the decoder of {output.name!r} has none over the aligned input"
        return (
            f"{self.name} needs the true alignment of {output.name!r}, a column of type alignment in `truth`"
        )


@register("metric", "aer")
class AlignmentErrorRate(AlignmentMetric, RowMetric):
    """Alignment error rate of soft attention: the most attended source position of each aligned target word."""

    higher_is_better = False

    def lines(self, inference: Inference) -> Table | None:
        found = inference.once(aligned_attention)
        if found is None:
            return None
        links = [(_chosen(table, sure), sure) for table, sure in zip(found.weights, found.links, strict=True)]
        return np.array([[2.0 * len(a & sure), len(a) + len(sure)] for a, sure in links], dtype=np.float64)

    def value(self, sums: Table) -> float:
        return 1.0 - ratio(sums) if sums[1] else 0.0

    def measure(self, inference: Inference) -> Score | None:
        found = inference.once(aligned_attention)
        return None if found is None else attention_error_rate(found.weights, found.links)


def aligned_attention(inference: Inference) -> AlignedAttention | None:
    """The attention to all inputs whose alignment with the output is known; None if there are none."""
    known = inference.output.known("alignment")
    found = AlignedAttention()
    for row, trace in inference.traces() if known else ():
        for name, column in known.items():
            if name in trace.attention:
                found.weights.append(trace.attention[name])
                found.links.append(parse_links(inference.raw(row)[column]))
    return found if found.weights else None


def parse_links(text: str) -> set[tuple[int, int]]:
    """The links of "0-0 1-2 2-1" (source-target, from 0)."""
    links = set()
    for pair in text.split():
        source, separator, target = pair.partition("-")
        if not separator or not source.isdecimal() or not target.isdecimal():
            raise RegardError(f"expected links such as 0-0 1-2, received {pair!r}.")
        links.add((int(source), int(target)))
    return links


def hard_links(weights: ArrayLike, *, words: Sequence[int] | None = None) -> set[tuple[int, int]]:
    """A link per target word of (T, S) to its largest weight, ties to the first; `words` limits the target
    positions."""
    table = np.asarray(weights, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] == 0:
        raise RegardError(f"expected weights (target, source), received shape {table.shape}.")
    chosen = range(table.shape[0]) if words is None else [word for word in words if word < table.shape[0]]
    return {(int(table[target].argmax()), target) for target in chosen}


def alignment_error_rate(
    predicted: Sequence[Links], sure: Sequence[Links], possible: Sequence[Links] | None = None
) -> Score:
    """AER over the rows; without `possible`, only the sure links count."""
    candidates = sure if possible is None else [s | p for s, p in zip(sure, possible, strict=True)]
    if not len(predicted) == len(sure) == len(candidates) or not sure:
        raise RegardError(
            f"expected as many predicted as true rows, received {len(predicted)} and {len(sure)}."
        )
    hits = sum(len(a & s) + len(a & p) for a, s, p in zip(predicted, sure, candidates, strict=True))
    links = sum(len(a) + len(s) for a, s in zip(predicted, sure, strict=True))
    value = 1.0 - hits / links if links else 0.0
    return Score("aer", value, len(sure), f"AER|sure{'' if possible is None else '+possible'}|corpus")


def attention_error_rate(
    weights: Sequence[ArrayLike],
    sure: Sequence[Links],
    possible: Sequence[Links] | None = None,
    *,
    all_words: bool = False,
) -> Score:
    """AER of attention weights (T, S), one array per row; T may include the end of the sequence, which has no links."""
    known = sure if possible is None else [s | p for s, p in zip(sure, possible, strict=True)]
    predicted = [
        hard_links(table) if all_words else _chosen(table, links)
        for table, links in zip(weights, known, strict=True)
    ]
    score = alignment_error_rate(predicted, sure, possible)
    words = "all target words" if all_words else "aligned target words"
    return Score(score.name, score.value, score.n, f"{score.signature}|argmax over source|{words}")


def _chosen(weights: ArrayLike, known: Links) -> set[tuple[int, int]]:
    """The most attended position of each target word that has a link."""
    return hard_links(weights, words=sorted({target for _, target in known}))
