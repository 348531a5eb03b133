"""Top-k accuracy of labels, counted by hand."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.metrics import find_metric
from regard.metrics.ranking import TopKAccuracy
from regard.trace.prediction import Prediction


def said(**probabilities: float) -> Prediction:
    best = max(probabilities, key=lambda label: probabilities[label])
    return Prediction(best, best, 0.0, probabilities=probabilities)


ANSWERS = [
    said(cat=0.5, dog=0.3, hen=0.2),
    said(cat=0.5, dog=0.3, hen=0.2),
    said(cat=0.1, dog=0.3, hen=0.6),
    said(cat=0.1, dog=0.3, hen=0.6),
]


def test_the_true_label_is_looked_for_among_the_first() -> None:
    truth = [["dog"], ["hen"], ["cat", "hen"], ["cow"]]  # ranks: second, third, first of its two, never seen
    shares = [TopKAccuracy(k).of(ANSWERS, truth).value for k in (1, 2, 3, 9)]
    assert shares == pytest.approx([1 / 4, 2 / 4, 3 / 4, 3 / 4])


def test_guessing_gets_k_of_the_labels() -> None:
    score, guess = TopKAccuracy(2).of(ANSWERS, [["cat"]] * 4), TopKAccuracy(2).chance(ANSWERS)
    assert (score.name, guess.name, score.signature) == ("top2", "top2", "true label among the first 2")
    assert guess.value == pytest.approx(2 / 3)
    assert TopKAccuracy(5).chance(ANSWERS).value == 1.0


def test_only_labels_are_ranked() -> None:
    found = find_metric("top5")
    assert isinstance(found, TopKAccuracy) and (found.k, found.name) == (5, "top5")
    assert find_metric("top0") is None and find_metric("topmost") is None and find_metric("topK") is None
    with pytest.raises(RegardError, match="this output is not a label"):
        TopKAccuracy(5).of([Prediction("a b", "a b", 0.0)], [["a b"]])
