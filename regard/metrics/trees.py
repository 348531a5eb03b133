"""Dependency trees: how many words have the right head, and the right relation to it.

A tree is a text such as "2:nsubj 0:root": head and relation of each word, heads counted from 1, 0 for the root symbol.

    UAS   the share of words with the right head (unlabelled attachment score)
    LAS   the share of words with the right head and the right relation

over all words of the corpus, punctuation included; `no_punct` leaves out the words whose true relation is punct, and
`universal` compares relations without their subtypes (acl:relcl as acl), as the CoNLL 2018 shared task does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from regard.metrics.metric import Metric, References, Table, ratio

Arc = tuple[str, str]


def arcs(tree: str) -> list[Arc]:
    """(head, relation) of each word; the relation is empty where there is none."""
    return [(head, relation) for head, _, relation in (arc.partition(":") for arc in tree.split())]


def _head(arc: Arc) -> object:
    return arc[0]


def _both(arc: Arc) -> object:
    return arc


def _universal(arc: Arc) -> Arc:
    return arc[0], arc[1].partition(":")[0]


def _attachment(view: Callable[[Arc], object], *, punctuation: bool) -> Callable[..., Table]:
    """Statistics (n, 2): words that are right, and words; a missing or superfluous word is a wrong one."""

    def statistics(predictions: Sequence[str], references: References) -> Table:
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine, candidates = arcs(prediction), []
            for reference in row:
                true = arcs(reference)
                kept = [n for n, arc in enumerate(true) if punctuation or _universal(arc)[1] != "punct"]
                right = sum(place < len(mine) and view(mine[place]) == view(true[place]) for place in kept)
                candidates.append((float(right), float(len(kept) + max(0, len(mine) - len(true)))))
            lines.append(max(candidates, key=lambda pair: (pair[0] - pair[1], pair[0])))
        return np.array(lines)

    return statistics


def _metric(name: str, what: str, view: Callable[[Arc], object], *, punctuation: bool = True) -> Metric:
    words = "all words" if punctuation else "words whose relation is not punct"
    return Metric(
        name, _attachment(view, punctuation=punctuation), ratio, lambda count: f"{what}|{words}|refs:{count}"
    )


uas = _metric("uas", "share of right heads", _head)
las = _metric("las", "share of right heads and relations", _both)
las_universal = _metric("las_universal", "share of right heads and relations without subtypes", _universal)
uas_no_punct = _metric("uas_no_punct", "share of right heads", _head, punctuation=False)
las_no_punct = _metric("las_no_punct", "share of right heads and relations", _both, punctuation=False)


def _whole(predictions: Sequence[str], references: References) -> Table:
    """(n, 2): whether all heads are right, and one."""
    counts = _attachment(_head, punctuation=True)(predictions, references)
    return np.stack([(counts[:, 0] == counts[:, 1]).astype(np.float64), np.ones(len(counts))], axis=1)


exact_trees = Metric(
    "exact_trees", _whole, ratio, lambda count: f"share of trees with all heads right|refs:{count}"
)
"""The share of sentences whose heads are all right."""
