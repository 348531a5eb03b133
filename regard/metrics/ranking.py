"""Top-k accuracy: whether the true label is among the k most probable; top1, top3, top5 …"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, Score
from regard.parts import register
from regard.trace.prediction import Prediction

NAME = re.compile(r"top([1-9][0-9]*)")


@register("metric", "topK")
class TopKAccuracy(Metric):
    """The share of rows with the true label among the k most probable: the family `top1`, `top2`, …

    A label that the training data lack is never among them; of several true labels, the most probable counts.
    """

    family = NAME.pattern
    suits = ("label",)
    baseline_name = "chance level"

    def __init__(self, k: int) -> None:
        self.k = k

    @property
    def name(self) -> str:
        return f"top{self.k}"

    @classmethod
    def named(cls, name: str) -> TopKAccuracy | None:
        found = NAME.fullmatch(name)
        return None if found is None else cls(int(found[1]))

    @classmethod
    def members(cls) -> tuple[str, ...]:
        return ("top1", "top3", "top5")

    def measure(self, inference: Inference) -> Score:
        return self.of(inference.predictions, inference.references)

    def of(self, answers: Sequence[Prediction], references: Sequence[Sequence[str]]) -> Score:
        """The metric of predictions that hold the probability of every label."""
        labels = self._labels(answers)
        scores = np.full((len(answers), len(labels) + 1), -np.inf)  # last column: unknown labels
        scores[:, :-1] = [[answer.probabilities[label] for label in labels] for answer in answers]
        place = {label: index for index, label in enumerate(labels)}
        truth = []
        for row, true in enumerate(references):
            known = [(scores[row, place[label]], place[label]) for label in true if label in place]
            truth.append(max(known, default=(0.0, len(labels)))[1])
        found = top_k_accuracy(scores, truth, k=min(self.k, len(labels)))
        return Score(self.name, found.value, found.n, f"true label among the first {self.k}")

    def baseline(self, inference: Inference) -> Score:
        return self.chance(inference.predictions)

    def chance(self, answers: Sequence[Prediction]) -> Score:
        """The chance level, k / C for C labels."""
        count = len(self._labels(answers))
        return Score(
            self.name, min(1.0, self.k / count), len(answers), f"{self.k} guesses among {count} labels"
        )

    def _labels(self, answers: Sequence[Prediction]) -> list[str]:
        if not answers or not answers[0].probabilities:
            raise RegardError(
                f"{self.name} ranks the labels of an output by their probability; this output is not a label.",
                fix="Choose another metric for this output.",
            )
        return list(answers[0].probabilities)


def top_k_accuracy(scores: ArrayLike, truth: Sequence[int], *, k: int) -> Score:
    """The share of rows whose true class is among the k highest of scores (n, C); ties count against the model."""
    table, target = np.asarray(scores, dtype=np.float64), np.asarray(truth, dtype=np.int64)
    if table.ndim != 2 or len(table) != len(target) or not len(target):
        raise RegardError(
            f"expected scores (n, C) and n true classes, received {table.shape} and {target.shape}."
        )
    own = table[np.arange(len(target)), target][:, None]  # (n, 1)
    ahead = (table >= own).sum(axis=1) - 1  # classes no lower than the true one, itself excluded
    return Score(
        f"top{k}_accuracy", float((ahead < k).mean()), len(target), f"true class among the first {k}"
    )
