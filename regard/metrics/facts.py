"""Supporting facts: the sentences that a model's hops chose, compared with those that lead to the answer.

A hop that repeats the previous choice adds nothing, nor does a hop without a choice (−1): the choices 3 3 0 and −1 3 0
both give the facts 3 0. A model may thus have more hops than a question has facts. With as many hops as facts, this is
equality position by position.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from regard.errors import RegardError
from regard.metrics.metric import Inference, Metric, OutputInfo, Score
from regard.parts import register
from regard.trace import Hops


class FactMetric(Metric):
    """A metric of the sentences that the hops of one model chose; not defined for ensembles."""

    ensembles = False
    baseline_name = "chance level"

    def refuses(self, output: OutputInfo) -> str | None:
        if output.known("facts"):
            return None
        return f"{self.name} needs the supporting facts of {output.name!r}, a column of type facts in `truth`"


@register("metric", "fact_accuracy")
class FactAccuracy(FactMetric):
    """All facts in the correct order. Baseline: distinct random sentences."""

    def measure(self, inference: Inference) -> Score | None:
        chosen, truth = inference.once(chosen_facts)
        return fact_accuracy(chosen, truth) if truth else None

    def baseline(self, inference: Inference) -> Score | None:
        found = None
        for story, facts in inference.output.known("facts").items():
            column: Any = inference.output.columns[story]
            rows = [inference.raw(row) for row in range(len(inference))]
            found = random_facts(
                [true_facts(row[facts]) for row in rows], [len(column.sentences(row[story])) for row in rows]
            )
        return found


@register("metric", "fact_set_accuracy")
class FactSetAccuracy(FactMetric):
    """All facts, in any order."""

    def measure(self, inference: Inference) -> Score | None:
        chosen, truth = inference.once(chosen_facts)
        return fact_set_accuracy(chosen, truth) if truth else None


def chosen_facts(inference: Inference) -> tuple[list[list[int]], list[list[int]]]:
    """The facts chosen for each answer, repeats included, and the true ones; both empty if none are known."""
    chosen: list[list[int]] = []
    truth: list[list[int]] = []
    for story, column in inference.output.known("facts").items():
        for row, trace in inference.traces():
            hops = trace.structures.get(story)
            if isinstance(hops, Hops) and hops.best is not None:
                chosen.append(hops.best.tolist())
                truth.append(true_facts(inference.raw(row)[column]))
    return chosen, truth


def true_facts(text: str) -> list[int]:
    """The indices in "3 0"."""
    return [int(place) for place in text.split()]


def distinct_hops(chosen: Sequence[int]) -> list[int]:
    """The choices without immediate repeats and without hops that chose nothing (−1)."""
    return [place for place, _ in groupby(chosen) if place >= 0]


def fact_accuracy(chosen: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> Score:
    """The share of questions for which exactly the true facts were found, in order."""
    _check(chosen, truth)
    right = sum(distinct_hops(c) == list(t) for c, t in zip(chosen, truth, strict=True))
    return Score(
        "fact_accuracy",
        right / len(truth),
        len(truth),
        "all supporting facts, in order, immediate repeats as one",
    )


def fact_set_accuracy(chosen: Sequence[Sequence[int]], truth: Sequence[Sequence[int]]) -> Score:
    """The share of questions for which exactly the true facts were found, in any order."""
    _check(chosen, truth)
    right = sum(set(distinct_hops(c)) == set(t) for c, t in zip(chosen, truth, strict=True))
    return Score("fact_set_accuracy", right / len(truth), len(truth), "all supporting facts, in any order")


def random_facts(truth: Sequence[Sequence[int]], sentences: Sequence[int]) -> Score:
    """The expected `fact_accuracy` of as many distinct random sentences as there are facts."""
    _check(truth, sentences)
    total = 0.0
    for facts, count in zip(truth, sentences, strict=True):
        likely = 1.0
        for place in range(len(facts)):
            likely /= max(count - place, 1)
        total += likely
    return Score(
        "random_facts",
        total / len(truth),
        len(truth),
        "expected fact accuracy of different sentences at random",
    )


def _check(chosen: Sequence[object], truth: Sequence[object]) -> None:
    if len(chosen) != len(truth) or not truth:
        raise RegardError(
            f"expected as many questions with chosen facts as with true facts, received {len(chosen)} and {len(truth)}."
        )
