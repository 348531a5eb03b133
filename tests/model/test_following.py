"""The most probable next tokens of a language model, against the surprisal of each."""

from __future__ import annotations

import math

import pytest

from regard import RegardError
from tests.model.test_continued_constraints import TOKENS, model


@pytest.mark.parametrize(("unit", "prompt"), [("char", ""), ("char", "ab"), ("word", "a ab")])
def test_they_have_the_probabilities_that_a_text_with_them_is_scored_with(unit: str, prompt: str) -> None:
    lm, gap = model(unit), " " if unit == "word" else ""
    wanted = {one: math.exp(-lm.surprise(f"{prompt}{gap}{one}")[-1][1]) for one in TOKENS[unit]}
    found = lm.following(prompt, 99)
    assert {one.replace("⏎", "\n").replace("␣", " "): p for one, p in found} == pytest.approx(
        wanted, rel=1e-5
    )
    assert [p for _, p in found] == pytest.approx(sorted(wanted.values(), reverse=True), rel=1e-5)
    assert lm.following(prompt, 2) == found[:2] and sum(wanted.values()) < 1  # the rest is never written
    likeliest = lm.generate(prompt, length=1, temperature=0).text[len(prompt) :].strip(" ")
    assert likeliest == found[0][0].replace("⏎", "\n").replace("␣", " ").strip(" ")


def test_what_cannot_be_asked_is_refused() -> None:
    with pytest.raises(RegardError, match="1 or more"):
        model("char").following("a", 0)
    with pytest.raises(RegardError, match="never saw"):
        model("char").following("xyz")
