"""`diverging`: the first difference of two models, against their predictions and scores."""

from __future__ import annotations

import copy
import math

import pytest
import torch

import regard
from regard import Model


@pytest.fixture(scope="module")
def pair(reverser: Model) -> tuple[Model, Model]:
    first = reverser
    network = copy.deepcopy(first.network)
    torch.manual_seed(1)
    with torch.no_grad():
        for weight in network.parameters():
            weight.add_(0.12 * torch.randn_like(weight))
    return first, Model(first.spec, first.columns, network)


def test_the_first_difference_and_what_each_thinks_of_it(pair: tuple[Model, Model]) -> None:
    first, second = pair
    differing = 0
    for word in ("abcde", "fade", "cab", "deed", "beef", "faced", "ab"):
        mine, other = (model.predict(word) for model in pair)
        found = regard.diverging(first, second, word)
        assert (found.first.prediction.text, found.second.prediction.text) == (mine.text, other.text)
        if mine.text == other.text:
            assert found.step is None and "same answer" in str(found)
            continue
        differing += 1
        assert mine.trace is not None and other.trace is not None and found.step is not None
        one, two = mine.trace.output, other.trace.output
        step = next(t for t, (a, b) in enumerate(zip(one, two, strict=False)) if a != b)
        assert found.step == step and found.common == tuple(one[:step])
        assert (found.first.piece, found.second.piece) == (one[step], two[step])
        assert mine.trace.probabilities is not None
        assert found.first.own == pytest.approx(mine.trace.probabilities[step], abs=1e-4)
        if two[step] != "</s>":  # p of the other's piece, from the score of a text that ends with it
            given = first.score(word, " ".join([*two[:step], two[step]])).trace
            assert given is not None and found.first.other == pytest.approx(
                math.exp(given.scores[step]), rel=1e-3
            )
        assert found.first.looked["source"] == pytest.approx(mine.trace.attention["source"][step])
    assert differing >= 2


def test_a_model_does_not_diverge_from_itself(pair: tuple[Model, Model]) -> None:
    found = regard.diverging(pair[0], pair[0], "abcde")
    assert found.step is None and found.to_dict()["first"]["text"] == pair[0].predict("abcde").text
