"""Alignment error rate on alignments small enough to count links by eye."""

from __future__ import annotations

import numpy as np
import pytest

from regard import metrics
from regard.errors import RegardError


def test_sure_and_possible_links() -> None:
    # |A∩S| = 1, |A∩P| = 2, |A| = 3, |S| = 2: 1 − 3/5
    sure, possible = [{(0, 0), (1, 1)}], [{(2, 1)}]
    predicted = [{(0, 0), (2, 1), (3, 2)}]
    assert metrics.alignment_error_rate(predicted, sure, possible).value == pytest.approx(0.4)
    assert metrics.alignment_error_rate(predicted, sure).value == pytest.approx(1 - 2 / 5)


def test_perfect_and_hopeless() -> None:
    links = [{(0, 1), (1, 0)}, {(0, 0)}]
    assert metrics.alignment_error_rate(links, links).value == 0.0
    assert metrics.alignment_error_rate([{(5, 5)}, set()], links).value == 1.0
    assert not metrics.metric("aer").higher_is_better


def test_links_are_summed_over_the_corpus() -> None:
    predicted = [{(0, 0)}, {(0, 0), (1, 1), (2, 2)}]
    sure = [{(1, 0)}, {(0, 0), (1, 1), (2, 2)}]
    assert metrics.alignment_error_rate(predicted, sure).value == pytest.approx(1 - 6 / 8)


def test_soft_weights_become_one_link_for_each_target_word() -> None:
    weights = np.array([[0.1, 0.7, 0.2], [0.6, 0.2, 0.2], [0.5, 0.5, 0.0]])
    assert metrics.hard_links(weights) == {(1, 0), (0, 1), (0, 2)}
    assert metrics.hard_links(weights, words=[1, 9]) == {(0, 1)}


def test_attention_is_judged_on_words_whose_truth_is_known() -> None:
    weights = [np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]])]  # the third is END
    sure = [{(1, 0), (1, 1)}]
    assert metrics.attention_error_rate(weights, sure).value == pytest.approx(1 - 2 / 4)
    assert metrics.attention_error_rate(weights, sure, all_words=True).value == pytest.approx(1 - 2 / 5)
    assert "argmax over source|aligned target words" in metrics.attention_error_rate(weights, sure).signature


def test_links_are_read() -> None:
    assert metrics.parse_links("0-0 1-2 10-1") == {(0, 0), (1, 2), (10, 1)}
    with pytest.raises(RegardError, match="received '1:2'"):
        metrics.parse_links("0-0 1:2")


def test_rows_must_agree() -> None:
    with pytest.raises(RegardError, match="received 0 and 1"):
        metrics.alignment_error_rate([], [{(0, 0)}])
    with pytest.raises(RegardError, match="expected weights"):
        metrics.hard_links(np.zeros(3))
