"""Label scores, computed by hand (the example of nine animals)."""

from __future__ import annotations

import numpy as np
import pytest

from regard import metrics
from regard.errors import RegardError
from regard.metrics import output_metric

TRUTH = ["cat", "cat", "cat", "cat", "dog", "dog", "dog", "hen", "hen"]
PREDICTED = ["cat", "cat", "dog", "hen", "dog", "dog", "cat", "cat", "cat"]


def test_the_confusion_matrix_has_true_rows_and_predicted_columns() -> None:
    result = metrics.classification(PREDICTED, TRUTH)
    assert result.labels == ("cat", "dog", "hen")
    assert result.confusion.tolist() == [[2, 1, 1], [1, 2, 0], [2, 0, 0]]
    assert result.accuracy == pytest.approx(4 / 9) and result.n == 9


def test_precision_recall_and_f1_of_each_label() -> None:
    scores = metrics.classification(PREDICTED, TRUTH).per_label
    cat, dog, hen = scores["cat"], scores["dog"], scores["hen"]
    assert (cat.precision, cat.recall, cat.f1) == pytest.approx((2 / 5, 2 / 4, 4 / 9))
    assert (dog.precision, dog.recall, dog.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (hen.precision, hen.recall, hen.f1, hen.support) == (0.0, 0.0, 0.0, 2)


def test_means_over_labels() -> None:
    result = metrics.classification(PREDICTED, TRUTH)
    assert result.macro.precision == pytest.approx((2 / 5 + 2 / 3) / 3)
    assert (
        result.macro.f1
        == pytest.approx((4 / 9 + 2 / 3) / 3)
        == output_metric("macro_f1")(PREDICTED, TRUTH).value
    )
    assert result.weighted.recall == pytest.approx((4 * 0.5 + 3 * 2 / 3) / 9)
    assert result.micro.f1 == pytest.approx(result.accuracy)


def test_labels_may_be_given_and_must_then_be_all() -> None:
    result = metrics.classification(["b"], ["b"], labels=["b", "a", "z"])
    assert result.labels == ("b", "a", "z") and result.per_label["z"].f1 == 0.0
    with pytest.raises(RegardError, match="label 'q' is not among a, b"):
        metrics.classification(["q"], ["a"], labels=["a", "b"])


def test_top_k_counts_ties_against_the_model() -> None:
    scores = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.3, 0.3, 0.3], [0.1, 0.2, 0.7]])
    truth = [1, 1, 0, 2]
    assert metrics.top_k_accuracy(scores, truth, k=1).value == pytest.approx(2 / 4)
    assert metrics.top_k_accuracy(scores, truth, k=2).value == pytest.approx(2 / 4)
    assert metrics.top_k_accuracy(scores, truth, k=3).value == 1.0
    with pytest.raises(RegardError, match="expected scores"):
        metrics.top_k_accuracy(scores, [1], k=1)


def test_what_comes_for_nothing() -> None:
    assert metrics.majority(TRUTH).value == pytest.approx(4 / 9)
    assert metrics.majority(TRUTH, training=["dog", "dog", "cat"]).value == pytest.approx(3 / 9)
    assert metrics.majority(["b", "a"]).signature == "accuracy of always 'a'"


def test_macro_f1_forgives_a_row_any_of_its_truths() -> None:
    assert output_metric("macro_f1")(["cat", "dog"], [["hen", "cat"], ["dog"]]).value == 1.0
    assert metrics.confidence_interval(output_metric("macro_f1"), PREDICTED, TRUTH).value == pytest.approx(
        (4 / 9 + 2 / 3) / 3
    )


def test_several_labels_by_hand() -> None:
    mine, truth = [["a", "b"], [], ["c"]], [{"a"}, set(), {"b", "c"}]
    assert output_metric("micro_f1")(mine, truth).value == pytest.approx(2 * 2 / (3 + 3))
    assert output_metric("macro_f1")(mine, truth).value == pytest.approx(
        (1 + 0 + 1) / 3
    )  # b: 0 right of 1 and 1
    assert output_metric("exact")([["a"], ["b"]], [[["a"]], [["a", "b"]]]).value == 0.5
    assert output_metric("micro_f1")([["a"]], [[["b"], ["a", "b"]]]).value == pytest.approx(2 / 3)
    assert output_metric("macro_f1")([[]], [[[]]]).value == 0.0
