"""Parity, sum and compare: answers about a whole sequence."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

from regard.errors import RegardError
from regard.worlds import world

ANSWERS = {"parity": "even", "sum": "total", "compare": "larger"}


def answer(name: str, row: Any) -> Any:
    if name == "parity":
        return "YES" if row["bits"].count("1") % 2 == 0 else "NO"
    if name == "sum":
        return float(sum(map(Fraction, json.loads(row["numbers"], parse_float=str, parse_int=str))))
    pairs = json.loads(row["pairs"], parse_float=Fraction)
    first, second = (sum(pair[side] for pair in pairs) for side in (0, 1))
    return {True: "first", False: "second"}[first > second] if first != second else None


def length(row: Any) -> int:
    return len(json.loads(row["numbers"] if "numbers" in row else row["pairs"]))


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_and_lengths(name: str) -> None:
    splits = world(name, length=5, times=10, train=200, dev=50, test=50, long=20).splits()
    for row in (row for rows in splits.values() for row in rows):
        true = row[ANSWERS[name]]
        assert (float(true) if name == "sum" else true) == answer(name, row)
    lengths = {split: {length(row) for row in rows} for split, rows in splits.items()}
    assert lengths["train"] == {1, 2, 3, 4, 5} and lengths["long"] == {50}
    assert lengths["dev"] <= {6, 7, 8, 9, 10} and lengths["test"] <= {6, 7, 8, 9, 10}
    apart = [tuple(row.values()) for split in ("dev", "test", "long") for row in splits[split]]
    assert len(set(apart)) == len(apart)


def test_parity_of_the_lecture_and_so_far() -> None:
    row = world("parity", length=3, train=50, dev=5, test=5, long=5).splits()["train"][0]
    so_far = [
        "YES" if row["bits"][:end].count("1") % 2 == 0 else "NO" for end in range(1, len(row["bits"]) + 1)
    ]
    assert row["so_far"].split() == so_far and row["numbers"] == json.dumps(list(map(int, row["bits"])))
    assert [answer("parity", {"bits": bits}) for bits in ("1000010101", "100011")] == ["YES", "NO"]


def test_too_few_sequences() -> None:
    with pytest.raises(RegardError, match="too few different sequences of 2 to 2 members"):
        world("parity", length=1).splits()
