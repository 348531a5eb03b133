"""Constraints in `generate`: against all texts that a small model can write, listed."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch

from regard import RegardError
from regard.model import LanguageModel
from regard.model.building import build_network, make_columns
from regard.spec import Spec

LENGTH = 4
TEXTS = {"char": "ab \n", "word": "a b ab\na"}
TOKENS = {"char": ["a", "b", " ", "\n"], "word": ["a", "b", "ab", "\n"]}
Obeys = Callable[[str], bool]


def model(unit: str, **search: Any) -> LanguageModel:
    torch.manual_seed(3)
    spec = Spec.parse(
        {
            "outputs": {"text": {"type": "stream", "unit": unit}},
            "decoder": {"type": "language", "size": 8, "embedding": 6},
            "data": {"train": "none.txt"},
            "search": search,
        }
    )
    columns = make_columns(spec)
    columns["text"].learn([TEXTS.get(unit, "")])
    network = build_network(spec, columns)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=1.5)
    return LanguageModel(spec, columns, network)


def written(unit: str, tokens: tuple[str, ...]) -> str:
    if unit == "char":
        return "".join(tokens)
    return re.sub(" ?\n ?", "\n", " ".join(tokens))


def expected(lm: LanguageModel, unit: str, obeys: Obeys) -> str | None:
    """What a greedy choice among the texts that obey writes; None if there is none."""
    choices = TOKENS[unit]
    good = {
        some
        for size in range(LENGTH + 1)
        for some in product(choices, repeat=size)
        if obeys(written(unit, some))
    }
    begun = {some[:size] for some in good for size in range(len(some) + 1)}
    if not begun:
        return None
    found: tuple[str, ...] = ()
    while following := [token for token in choices if (*found, token) in begun]:
        costs = {token: lm.surprise(written(unit, (*found, token)))[-1][1] for token in following}
        found = (*found, min(costs, key=costs.__getitem__))
    return written(unit, found)


CONDITIONS: list[tuple[Any, Obeys]] = [
    ({"type": "never", "phrases": ["b"], "whole": False}, lambda text: "b" not in text),
    ({"type": "must", "phrases": "b", "whole": False}, lambda text: "b" in text),
    ({"type": "regex", "pattern": r"a+(\s[ab]*)?"}, lambda text: bool(re.fullmatch(r"a+(\s[ab]*)?", text))),
    ({"type": "regex", "pattern": "ab?"}, lambda text: bool(re.fullmatch("ab?", text))),
    (
        [{"type": "prefix", "text": "b"}, {"type": "must", "phrases": "a", "whole": True}],
        lambda text: text.startswith("b") and bool(re.search(r"\ba\b", text)),
    ),
    ({"type": "answers", "answers": ["a\nb", "ab"]}, lambda text: text in ("a\nb", "ab")),
    ({"type": "regex", "pattern": "[ab]{9}"}, lambda text: bool(re.fullmatch("[ab]{9}", text))),
]


@pytest.mark.parametrize("unit", ["char", "word"])
def test_the_text_obeys_and_is_the_greedy_one(unit: str) -> None:
    lm = model(unit)
    for constraint, obeys in CONDITIONS:
        truth = expected(lm, unit, obeys)
        if truth is None:
            with pytest.raises(RegardError, match="cannot write a text of at most 4 tokens that"):
                lm.generate(length=LENGTH, temperature=0, constraint=constraint)
            continue
        assert lm.generate(length=LENGTH, temperature=0, constraint=constraint).text == truth, constraint
        for seed in range(4):
            drawn = lm.generate(length=LENGTH, constraint=constraint, seed=seed).text
            assert obeys(drawn), (constraint, drawn)
            assert "".join(lm.stream(length=LENGTH, constraint=constraint, seed=seed)) == drawn


def test_the_prompt_counts_and_the_spec_is_the_default() -> None:
    lm = model("char", constraint={"type": "regex", "pattern": "ab[ab]b*"})
    assert re.fullmatch("ab[ab]b*", lm.generate("ab", length=3).text)
    assert lm.generate("ab", length=3, constraint=[]).text != lm.generate("ab", length=0, constraint=[]).text
    with pytest.raises(RegardError, match="of at most 3 tokens after the prompt that matches"):
        lm.generate("ba", length=3)
    assert "ab" in model("char", constraint={"type": "must", "phrases": "ab"}).generate(length=4).text
