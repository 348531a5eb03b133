"""Whether the true label is among the k most probable: top1, top3, top5 …"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from regard.errors import RegardError
from regard.metrics import Score, top_k_accuracy
from regard.prediction import Prediction

RANKED = re.compile(r"top([1-9][0-9]*)")


def rank(name: str) -> int | None:
    """k of a metric named top k, None of any other."""
    found = RANKED.fullmatch(name)
    return None if found is None else int(found[1])


def measure_rank(
    name: str, answers: Sequence[Prediction], references: Sequence[Sequence[str]]
) -> tuple[Score, Score]:
    """The share of rows with the true label among the first k, and what guessing among C labels gets, k / C.

    A label never seen in training is among no first k; of several true labels the most probable counts.
    """
    k = rank(name)
    if k is None or not answers or not answers[0].probabilities:
        raise RegardError(
            f"{name} ranks the labels of an output by their probability, and this output is no label.",
            fix="Choose another metric for this output.",
        )
    labels = list(answers[0].probabilities)
    scores = np.full((len(answers), len(labels) + 1), -np.inf)  # the last: labels that are unknown
    scores[:, :-1] = [[answer.probabilities[label] for label in labels] for answer in answers]
    place = {label: index for index, label in enumerate(labels)}
    truth = []
    for row, true in enumerate(references):
        known = [(scores[row, place[label]], place[label]) for label in true if label in place]
        truth.append(max(known, default=(0.0, len(labels)))[1])
    score = top_k_accuracy(scores, truth, k=min(k, len(labels)))
    share = min(1.0, k / len(labels))
    guess = Score(name, share, len(truth), True, f"{k} guesses among {len(labels)} labels")
    return Score(name, score.value, score.n, True, f"true label among the first {k}"), guess
