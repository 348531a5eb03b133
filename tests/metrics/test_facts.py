"""Fact accuracy, counted by hand."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.metrics import distinct_hops, fact_accuracy, fact_set_accuracy, random_facts


def test_order_counts_and_staying_does_not() -> None:
    chosen = [[3, 3, 0], [3, 0, 0], [0, 3, 3], [3, 0, 3], [1, 2, 4], [3, 1, 0]]
    truth = [[3, 0], [3, 0], [3, 0], [3, 0], [1, 2, 4], [3, 0]]
    assert fact_accuracy(chosen, truth).value == 3 / 6
    assert fact_set_accuracy(chosen, truth).value == 5 / 6
    assert distinct_hops([3, 3, 0, 3]) == [3, 0, 3]
    assert fact_accuracy([[-1, 3, 0], [-1, -1, 0]], [[3, 0], [3, 0]]).value == 1 / 2


def test_random_facts_is_one_ordered_choice_of_all() -> None:
    assert random_facts([[0, 1], [2]], [4, 5]).value == pytest.approx((1 / 12 + 1 / 5) / 2)


def test_as_many_questions_as_truths() -> None:
    with pytest.raises(RegardError, match="received 1 and 0"):
        fact_accuracy([[1]], [])
