"""Accuracy of dependency trees: words with the correct head, and with the correct relation to it.

A tree is a list of arcs such as 2:nsubj 0:root: head and relation of each word. Heads are counted from 1; 0 is the
root.

    UAS   the share of words with the correct head (unlabeled attachment score)
    LAS   the share of words with the correct head and relation (labeled attachment score)

over all words of the corpus, including punctuation. `no_punct` leaves out words whose true relation is punct, and
`universal` compares relations without subtypes (acl:relcl as acl), as in the CoNLL 2018 shared task.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from regard.metrics.latent import best_rule
from regard.metrics.metric import Inference, OutputMetric, References, Score, Table, pieces
from regard.parts import register

Arc = tuple[str, str]


def arcs(tree: str | Sequence[str]) -> list[Arc]:
    """(head, relation) of each word; the relation is empty if there is none."""
    return [(head, relation) for head, _, relation in (arc.partition(":") for arc in pieces(tree))]


def _universal(arc: Arc) -> Arc:
    return arc[0], arc[1].partition(":")[0]


class Attachment(OutputMetric):
    """The share of words with correct arcs; missing and superfluous words are wrong.

    punctuation   whether words whose true relation is punct count
    """

    suits = ("tree",)
    punctuation: ClassVar[bool] = True
    what: ClassVar[str]

    def view(self, arc: Arc) -> object:
        """The part of an arc that is compared."""
        return arc

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): correct words, and words."""
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
    """The share of correct heads. Baseline: the best of left-branching, right-branching and random heads."""

    what = "share of right heads"

    def view(self, arc: Arc) -> object:
        return arc[0]

    def baseline(self, inference: Inference) -> Score | None:
        name = inference.output.name
        trees = (arcs(inference.raw(row)[name]) for row in range(len(inference)))
        return best_rule("uas", [[int(head) for head, _ in tree] for tree in trees])


@register("metric", "uas_no_punct")
class UASWithoutPunctuation(Attachment):
    """The share of correct heads, without punctuation."""

    what, punctuation = UAS.what, False

    def view(self, arc: Arc) -> object:
        return arc[0]


@register("metric", "las")
class LAS(Attachment):
    """The share of words with correct head and relation."""

    what = "share of right heads and relations"


@register("metric", "las_no_punct")
class LASWithoutPunctuation(Attachment):
    """The share of words with correct head and relation, without punctuation."""

    what, punctuation = LAS.what, False


@register("metric", "las_universal")
class UniversalLAS(Attachment):
    """The share of words with correct head and relation, ignoring subtypes of relations."""

    what = "share of right heads and relations without subtypes"

    def view(self, arc: Arc) -> object:
        return _universal(arc)


@register("metric", "exact_trees")
class ExactTrees(UAS):
    """The share of sentences whose heads are all correct."""

    def statistics(self, predictions: Sequence[Any], references: References) -> Table:
        """(n, 2): whether all heads are correct, and 1."""
        counts = super().statistics(predictions, references)
        return np.stack([(counts[:, 0] == counts[:, 1]).astype(np.float64), np.ones(len(counts))], axis=1)

    def describe(self, count: str) -> str:
        return f"share of trees with all heads right|refs:{count}"

    def baseline(self, inference: Inference) -> Score | None:
        return None
