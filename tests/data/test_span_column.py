"""Spans: how they are written, what is refused, and how they are shown."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.columns import SpanColumn
from regard.metrics import output_metric


def test_spans_are_pairs_of_positions_shown_as_words() -> None:
    column = SpanColumn("span", of="text", longest=3)
    for value, pair in (("3-5", [3, 5]), ("3 5", [3, 5]), ("4", [4, 4]), (column.written((3, 5)), [3, 5])):
        assert column.check(value) is None and column.encode(value).tolist() == pair == column.reference(
            value
        )
    words = ["the", "old", "mill", "by", "the", "river"]
    assert column.shown([1, 2], words) == "old mill" and column.decode([3, 5]) == "3-5"
    assert SpanColumn("span", of="text", blank="").shown([0, 2], ["▁the", "▁ol", "d"]) == "the old"
    assert column.collate([np.array([3, 5]), np.array([4, 4])]).tolist() == [[3, 5], [4, 4]]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("x", "expected the first and the last word, counted from 0, such as 3-5"),
        ("5-3", "whose last word is before its first"),
        ("0-3", "a span of 4 words; the decoder finds at most 3"),
        ("", "is empty"),
        (None, "is missing"),
    ],
)
def test_other_values_are_refused(value: str | None, why: str) -> None:
    column = SpanColumn("span", of="text", longest=3)
    assert why in str(column.check(value))
    assert "names word 4, but text has 4 (0 to 3)" in str(
        column.check_beside(np.array([3, 4]), {"text": np.arange(4)})
    )


def test_span_f1_by_hand() -> None:
    f1 = output_metric("span_f1")
    assert f1([[2, 4], [0, 0], [5, 5]], [[[3, 5]], [[0, 0]], [[0, 1]]]).value == pytest.approx(
        (2 * 2 / 6 + 1 + 0) / 3
    )
    assert f1([[2, 4]], [[[9, 9], [2, 3]]]).value == pytest.approx(2 * 2 / 5)
