"""Figures of long inputs and long words stay small and still show the attended positions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from regard.inspect.narrowing import LONGEST, SHOWN, narrowed, with_short_words
from regard.trace import SentenceWords, Trace


def long_trace(count: int) -> Trace:
    """Two words, each copied from its own position, and attention spread thinly over the others."""
    weights = np.full((3, count), 0.2 / count)
    places = [count // 3, count - 2]
    for row, place in enumerate(places):
        weights[row, place] += 0.8
    weights[2] += 0.8 / count
    copied = np.zeros((3, count))
    copied[[0, 1], places] = 1.0
    pieces = [f"w{number}" for number in range(count)]
    return Trace(
        input={"report": pieces},
        output=[*(pieces[place] for place in places), "</s>"],
        attention={"report": weights},
        copied={"report": copied},
    )


def test_of_10000_words_those_that_were_looked_at_are_drawn() -> None:
    trace = long_trace(10_000)
    found = narrowed(trace)
    assert found.input["report"].count("…") <= SHOWN + 1 and len(found.input["report"]) <= 2 * SHOWN + 1
    shown = [piece for piece in found.input["report"] if piece != "…"]
    assert "w3333" in shown and "w9998" in shown and shown == sorted(shown, key=lambda one: int(one[1:]))
    assert found.attention["report"].sum(1) == pytest.approx([1.0, 1.0, 1.0])
    assert found.copied["report"][0, found.input["report"].index("w3333")] == 1.0
    drawn = trace.plot().svg()
    assert len(drawn) < 600_000 and "w3333" in drawn and "w9998" in drawn
    assert len(trace.html()) < 1_200_000


def test_nothing_is_left_out_of_an_input_that_can_be_drawn() -> None:
    trace = long_trace(LONGEST)
    assert narrowed(trace) is trace and with_short_words(trace) is trace


def test_a_word_of_50000_characters_is_cut() -> None:
    word = "x" * 50_000
    structure = SentenceWords(words=[word, "so"], counts=np.array([2]), weights=np.array([0.5, 0.5]))
    trace = Trace(
        input={"report": [word, "so"]},
        output=[word, "</s>"],
        attention={"report": np.array([[0.9, 0.1], [0.2, 0.8]])},
        copied={"report": np.array([[1.0, 0.0], [0.0, 0.0]])},
        hypotheses=[(word, -0.1), ("so", -2.0)],
    )
    for one in (
        trace,
        replace(trace, copied={}, structures={"report": structure}, input={"report": ["x so"]}, attention={}),
    ):
        assert len(one.plot().svg()) < 200_000 and len(one.html()) < 400_000
    assert trace.plot().svg().count("x" * 1_000) > 0
