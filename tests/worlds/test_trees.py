"""Expressions in two notations, against a calculator for each."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.worlds import world

CHOSEN = {"train": 60, "dev": 10, "test": 10}


def of_prefix(words: list[str]) -> int:
    word = words.pop(0)
    if word != "(":
        return int(word)
    operator, values = words.pop(0), []
    while words[0] != ")":
        values.append(of_prefix(words))
    words.pop(0)
    assert 2 <= len(values) <= 4
    total = values[0]
    for value in values[1:]:
        total = total + value if operator == "+" else total * value
    return total


def depth(text: str) -> int:
    level = deepest = 0
    for word in text.split():
        level += (word == "(") - (word == ")")
        deepest = max(deepest, level)
    assert level == 0
    return deepest


@pytest.mark.parametrize("direction", ["prefix-infix", "infix-prefix"])
def test_both_notations_have_one_value_and_the_depth_asked_for(direction: str) -> None:
    rows = world("trees", depth=3, direction=direction, **CHOSEN).splits()["train"]
    depths = []
    for row in rows:
        first, second = (row["source"], row["target"])[:: 1 if direction == "prefix-infix" else -1]
        assert of_prefix(first.split()) == eval(second)  # Python reads infix
        assert depth(first) == depth(second) + 1, "the outermost brackets of infix are left out"
        depths.append(depth(first))
    assert depths.count(2) == depths.count(3) == 60


def test_splits_share_nothing_and_deeper_ones_come_apart() -> None:
    splits = world("trees", depth=2, beyond=2, **CHOSEN).splits()
    assert list(splits) == ["train", "dev", "test", "depth2", "depth3", "depth4"]
    assert [row["source"] for row in splits["test"]] == [row["source"] for row in splits["depth2"]]
    assert {depth(row["source"]) for row in splits["depth4"]} == {4}
    sources = [
        row["source"] for split in ("train", "dev", "depth2", "depth3", "depth4") for row in splits[split]
    ]
    assert len(set(sources)) == len(sources)
    again = world("trees", depth=2, beyond=2, **CHOSEN | {"train": 90}).splits()
    assert again["test"] == splits["test"]


def test_options_are_checked() -> None:
    with pytest.raises(RegardError, match="depth is 1"):
        world("trees", depth=1)
    with pytest.raises(RegardError, match="'prefix-infix' or 'infix-prefix'"):
        world("trees", direction="postfix")
