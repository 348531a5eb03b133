"""Minimum Bayes risk against the sum over all outputs."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from regard.errors import RegardError
from tests.model.small import build, spec

LETTERS = ("A", "B", "C")


def model() -> Any:
    some = [{"source": "abc", "target": " ".join(LETTERS)}, {"source": "cab", "target": "B A"}]
    return build(spec(search={"max_length": 2}), some, seed=3)  # type: ignore[arg-type]


def distance(one: list[str], other: list[str]) -> int:
    """The edit distance, by its definition."""
    if not one or not other:
        return len(one) + len(other)
    return min(
        distance(one[1:], other) + 1,
        distance(one, other[1:]) + 1,
        distance(one[1:], other[1:]) + (one[0] != other[0]),
    )


def every(made: Any, source: str) -> dict[str, float]:
    """The probability of every output but the empty one and those with unknown words, given that it is one of them."""
    outputs = [" ".join(one) for n in (1, 2) for one in itertools.product(LETTERS, repeat=n)]
    logs = [answer.score for answer in made.score([source] * len(outputs), outputs)]
    total = sum(map(math.exp, logs))
    return {one: math.exp(log) / total for one, log in zip(outputs, logs, strict=True)}


@pytest.mark.parametrize("source", ["abc", "cab", "b"])
def test_a_beam_of_all_outputs_gives_the_exact_answer(source: str) -> None:
    made = model()
    shares = every(made, source)
    worth = {
        one: sum(
            share * (1 - distance(one.split(), other.split()) / len(other.split()))
            for other, share in shares.items()
        )
        for one in shares
    }
    shape = {"type": "regex", "pattern": "[ABC]( [ABC])?"}
    options = {"drawn": "beam", "candidates": 40, "utility": "token_error", "constraint": shape}
    found = made.predict(source, method="mbr", n_best=3, **options)
    assert [one.text for one in found.alternatives] == sorted(worth, key=lambda one: -worth[one])[:3]
    assert found.trace.output[: len(found.text.split())] == found.text.split()
    assert found.trace.attention["source"].shape[0] == len(found.trace.output)


def test_samples_are_counted() -> None:
    made = model()
    drawn = made.predict("abc", method="sample", n_best=20, seed=5)
    texts = [one.text for one in drawn.alternatives]
    worth = {one: texts.count(one) for one in texts}
    best = made.predict("abc", method="mbr", candidates=20, utility="exact", seed=5)
    assert worth[best.text] == max(worth.values())
    assert made.predict("abc", candidates=20, utility="exact", seed=5).text == best.text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"utility": "blue"}, "there is no metric 'blue'"),
        ({"utility": "accuracy"}, "accuracy does not compare two texts"),
        ({"candidates": 2, "n_best": 3}, "2 candidates cannot give 3 answers"),
    ],
)
def test_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(RegardError, match=told):
        model().predict("abc", method="mbr", **options)
