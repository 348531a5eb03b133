"""Spans told by tags: is a chunk or a name found, whole and of the right kind?

    precision = right / found,  recall = right / true,  F1 = 2 · right / (found + true)

over the whole corpus, where a span is right when its first token, its last token and its kind are. Tags may be IOB1,
BIO or BIOES; spans are read from them as conlleval does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from regard.data.columns.spans import spans
from regard.metrics.metric import Metric, References, Table


def _span_counts(predictions: Sequence[str], references: References) -> Table:
    """(n, 3): spans right, found, true; of several references the one met best."""
    lines = []
    for prediction, row in zip(predictions, references, strict=True):
        mine = set(spans(prediction.split()))
        counts = [
            (float(len(mine & true)), float(len(mine)), float(len(true)))
            for true in (set(spans(reference.split())) for reference in row)
        ]
        lines.append(max(counts, key=lambda found: (2 * found[0] - found[2], found[0])))
    return np.array(lines)


def _f1(sums: Table) -> float:
    right, found, true = sums.tolist()
    return float(2.0 * right / (found + true)) if found + true else 0.0


chunk_f1 = Metric(
    "chunk_f1", _span_counts, _f1, lambda count: f"F1 of spans|conlleval conventions|corpus|refs:{count}"
)
"""F1 of the spans that tags mark: chunks, names."""
