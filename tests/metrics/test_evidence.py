"""Attention over a document, against the words that decide the class."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.metrics.evidence import key_sentence, key_words


def test_the_most_attended_sentence() -> None:
    weights = [[0.1, 0.7, 0.2], [0.5, 0.5], [0.9, 0.1]]
    truth = [[0, 2, 0], [1, 0], [0, 1]]
    assert key_sentence(weights, truth).value == pytest.approx(2 / 3)


def test_as_many_words_as_decide() -> None:
    weights = [[0.1, 0.4, 0.3, 0.2], [0.6, 0.3, 0.1]]
    truth = [[0, 1, 0, 1], [1, 0, 0]]
    assert key_words(weights, truth).value == pytest.approx((1 + 1) / 3)
    with pytest.raises(RegardError, match="received 1 and 2"):
        key_words([[1.0]], truth)
