"""Dependency trees: how many words have the right head, and the right relation to it.

A tree is its arcs, such as 2:nsubj 0:root: head and relation of each word, heads counted from 1, 0 for the root symbol.

    UAS   the share of words with the right head (unlabelled attachment score)
    LAS   the share of words with the right head and the right relation

over all words of the corpus, punctuation included; `no_punct` leaves out the words whose true relation is punct, and
`universal` compares relations without their subtypes (acl:relcl as acl), as the CoNLL 2018 shared task does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from regard.metrics.inference import Inference
from regard.metrics.latent import best_rule
from regard.metrics.metric import OutputMetric, References, Score, Table, pieces
from regard.parts import register

Arc = tuple[str, str]


def arcs(tree: str | Sequence[str]) -> list[Arc]:
    """(head, relation) of each word; the relation is empty where there is none."""
    return [(head, relation) for head, _, relation in (arc.partition(":") for arc in pieces(tree))]


def _universal(arc: Arc) -> Arc:
    return arc[0], arc[1].partition(":")[0]


class Attachment(OutputMetric):
    """The share of words whose arcs are right in some view; a missing or superfluous word is a wrong one.

    punctuation   whether words count whose true relation is punct
    """

    suits = ("tree",)
    punctuation: ClassVar[bool] = True
    what: ClassVar[str]

    def view(self, arc: Arc) -> object:
        """The part of an arc that is compared."""
        return arc

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): words that are right, and words."""
        lines = []
        for prediction, row in zip(predictions, references, strict=True):
            mine, candidates = arcs(prediction), []
            for reference in row:
                true = arcs(reference)
                kept = [n for n, arc in enumerate(true) if self.punctuation or _universal(arc)[1] != "punct"]
                right = sum(
                    place < len(mine) and self.view(mine[place]) == self.view(true[place]) for place in kept
                )
                candidates.append((float(right), float(len(kept) + max(0, len(mine) - len(true)))))
            lines.append(max(candidates, key=lambda pair: (pair[0] - pair[1], pair[0])))
        return np.array(lines)

    def describe(self, count: str) -> str:
        words = "all words" if self.punctuation else "words whose relation is not punct"
        return f"{self.what}|{words}|refs:{count}"


@register("metric", "uas")
class UAS(Attachment):
    """Heads, beside the best of left-branching, right-branching and random heads."""

    what = "share of right heads"

    def view(self, arc: Arc) -> object:
        return arc[0]

    def baseline(self, inference: Inference) -> Score | None:
        name = inference.output.name
        trees = (arcs(inference.raw(row)[name]) for row in range(len(inference)))
        return best_rule("uas", [[int(head) for head, _ in tree] for tree in trees])


@register("metric", "uas_no_punct")
class UASWithoutPunctuation(Attachment):
    """Heads of words that are no punctuation."""

    what, punctuation = UAS.what, False

    def view(self, arc: Arc) -> object:
        return arc[0]


@register("metric", "las")
class LAS(Attachment):
    """Heads and relations."""

    what = "share of right heads and relations"


@register("metric", "las_no_punct")
class LASWithoutPunctuation(Attachment):
    """Heads and relations of words that are no punctuation."""

    what, punctuation = LAS.what, False


@register("metric", "las_universal")
class UniversalLAS(Attachment):
    """Heads and relations, these without their subtypes."""

    what = "share of right heads and relations without subtypes"

    def view(self, arc: Arc) -> object:
        return _universal(arc)


@register("metric", "exact_trees")
class ExactTrees(UAS):
    """The share of sentences whose heads are all right."""

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): whether all heads are right, and one."""
        counts = super().statistics(predictions, references)
        return np.stack([(counts[:, 0] == counts[:, 1]).astype(np.float64), np.ones(len(counts))], axis=1)

    def describe(self, count: str) -> str:
        return f"share of trees with all heads right|refs:{count}"

    def baseline(self, inference: Inference) -> Score | None:
        return None
