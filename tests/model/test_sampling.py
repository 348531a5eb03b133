"""A sample depends on the input and the seed, not on the position in a call or a batch."""

from __future__ import annotations

import math

import pytest
import torch

from regard import Model
from regard.errors import RegardError
from regard.model.inference import sample_keys

from .small import build, spec, words

SAMPLED = {"method": "sample", "temperature": 2.0, "max_length": 8}


@pytest.fixture(scope="module")
def model() -> Model:
    return build(spec(search=SAMPLED, training={"seed": 11}))


def texts(model: Model, inputs: list[str], **options: object) -> list[str]:
    return [str(answer.text) for answer in model.predict(inputs, **options)]


def test_the_same_input_and_seed_give_the_same_sample_anywhere(model: Model) -> None:
    inputs = list(dict.fromkeys(words(12, seed=3)))
    expected = texts(model, inputs, seed=7)
    assert texts(model, inputs, seed=7) == expected
    assert texts(model, inputs[::-1], seed=7) == expected[::-1]
    assert texts(model, inputs, seed=7, batch_rows=2) == expected
    assert [model.predict(one, seed=7).text for one in inputs] == expected
    assert texts(model, inputs, seed=8) != expected


def test_without_a_seed_it_is_the_spec_s(model: Model) -> None:
    inputs = words(6, seed=4)
    assert texts(model, inputs) == texts(model, inputs, seed=11) == texts(model, inputs, seed=None)


def test_equal_inputs_of_one_call_are_sampled_independently(model: Model) -> None:
    several = texts(model, ["abcde"] * 20, seed=7)
    assert len(set(several)) > 10
    assert several[0] == model.predict("abcde", seed=7).text
    assert texts(model, ["hag", "abcde", "bad", "abcde"], seed=7)[1::2] == several[:2]


def test_the_samples_of_one_input_differ_and_come_with_the_seed(model: Model) -> None:
    def drawn(word: str, seed: int) -> list[str]:
        answer = model.predict(word, n_best=6, seed=seed)
        return [str(one.text) for one in answer.alternatives]

    assert len(set(drawn("abcde", 7))) > 3
    assert drawn("abcde", 7) == drawn("abcde", 7) != drawn("abcde", 8)


def test_a_seed_must_be_a_number(model: Model) -> None:
    with pytest.raises(RegardError, match=r"^seed"):
        model.predict("abc", seed="often")


def test_keys_differ_by_content_name_and_occurrence() -> None:
    contents = [{"a": "x", "b": "y"}, {"a": "y", "b": "x"}, {"b": "y", "a": "x"}]
    keys = sample_keys(contents)
    assert len(set(keys)) == 3
    assert sample_keys(contents[1:3]) == [keys[1], keys[0]]


def test_no_maximum_is_the_default_one() -> None:
    free, limited = build(spec()), build(spec(search={"max_length": 2}))
    inputs = words(5, seed=1)
    expected = texts(free, inputs)
    assert texts(free, inputs, max_length=None) == expected == texts(limited, inputs, max_length=None)
    assert texts(limited, inputs) != expected


@pytest.mark.parametrize("options", [{}, {"beam": 3}, {"method": "sample"}], ids=str)
@pytest.mark.parametrize(
    ("value", "place", "message"),
    [
        (math.nan, slice(None), "scores are not finite.*Load another checkpoint"),
        (-math.inf, 3, "no choice is possible.*Raise max_length"),
    ],
)
def test_damaged_weights_are_an_error_and_not_an_endless_search(
    options: dict[str, object], value: float, place: int | slice, message: str
) -> None:
    model = build(spec())
    with torch.no_grad():
        model.network.decoders["target"].output.bias[place] = value
    with pytest.raises(RegardError, match=message):
        model.predict(words(3), **options)
