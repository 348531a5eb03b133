"""Top-k accuracy of labels, counted by hand."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.evaluation.ranking import measure_rank, rank
from regard.prediction import Prediction


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
    truth = [["dog"], ["hen"], ["cat", "hen"], ["cow"]]  # second, third, first of its two, never seen
    shares = {name: measure_rank(name, ANSWERS, truth)[0].value for name in ("top1", "top2", "top3", "top9")}
    assert shares == pytest.approx({"top1": 1 / 4, "top2": 2 / 4, "top3": 3 / 4, "top9": 3 / 4})


def test_guessing_gets_k_of_the_labels() -> None:
    score, guess = measure_rank("top2", ANSWERS, [["cat"]] * 4)
    assert (score.name, guess.name, score.signature) == ("top2", "top2", "true label among the first 2")
    assert guess.value == pytest.approx(2 / 3)
    assert measure_rank("top5", ANSWERS, [["cat"]] * 4)[1].value == 1.0


def test_only_labels_are_ranked() -> None:
    assert rank("top5") == 5 and rank("top0") is None and rank("topmost") is None
    with pytest.raises(RegardError, match="this output is no label"):
        measure_rank("top5", [Prediction("a b", "a b", 0.0)], [["a b"]])
