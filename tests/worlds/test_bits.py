"""The bits world: every answer is recovered from the row, and every question has one answer."""

from __future__ import annotations

from typing import Any

import pytest

from regard.errors import RegardError
from regard.worlds.world import world


def rows(split: str, **options: Any) -> list[tuple[list[str], list[str]]]:
    made = world("bits", train=40, dev=5, test=5, long=20, **options).splits()[split]
    return [(row["source"].split(), row["target"].split()) for row in made]


def test_a_copy_is_what_was_seen() -> None:
    for source, target in rows("train", task="copy", length=[2, 5], width=4):
        count = len(target)
        assert 2 <= count <= 5 and source == [*target, *["_"] * count]
        assert all(len(vector) == 4 for vector in target)
    assert {len(target) for _, target in rows("long", task="copy", length=[2, 5], beyond=3)} == {15}


def test_a_repeat_counts_its_marks_and_ends_with_one() -> None:
    splits = {
        split: rows(split, task="repeat", length=[1, 3], repeats=[1, 2], width=2)
        for split in ("train", "more")
    }
    for split, found in splits.items():
        for source, target in found:
            count = source.count("001")
            data = source[: len(source) - count - len(target)]
            assert target == data * count + ["001"]
            assert count == 4 if split == "more" else count in (1, 2)


def test_rows_say_how_long_they_are_and_how_often_or_how_many() -> None:
    options: dict[str, Any] = {"train": 40, "dev": 1, "test": 1, "long": 1, "width": 4, "length": [1, 3]}
    marks = {"copy": None, "repeat": "00001", "recall": "000010"}
    for task, mark in marks.items():
        for row in world("bits", task=task, **options).splits()["train"]:
            given = [vector for vector in row["source"].split() if vector != "_"]
            count = 1 if mark is None else given.count(mark)
            answered = len(row["target"].split()) - (task == "repeat")
            assert (int(row["length"]), int(row["count"])) == (
                answered // count if task == "repeat" else answered,
                count,
            )


def test_a_world_is_its_seed_and_refuses_what_means_nothing() -> None:
    assert rows("train", seed=3) == rows("train", seed=3) != rows("train", seed=4)
    with pytest.raises(RegardError, match=r"items has no effect: it belongs to task: recall"):
        world("bits", task="copy", items=[2, 3])
    with pytest.raises(RegardError, match=r"length is \[4, 2\]"):
        world("bits", length=[4, 2])


def asked_and_items(source: str, width: int) -> tuple[list[str], list[list[str]]]:
    """For a recall: the item between the two marks, and the items before it."""
    asked: list[str] = []
    items: list[list[str]] = []
    asking = False
    for vector in source.split():
        if vector == "_":
            continue
        data, begins, asks = vector[:width], vector[width] == "1", vector[width + 1] == "1"
        if asks:
            asking = not asking
        elif begins:
            items.append([])
        else:
            (asked if asking else items[-1]).append(data)
    return asked, items


@pytest.mark.parametrize(
    "width, length, items", [(6, (2, 2), (2, 6)), (2, (1, 3), (2, 2)), (3, (1, 1), (2, 4))]
)
def test_a_recall_has_one_answer(width: int, length: tuple[int, int], items: tuple[int, int]) -> None:
    options = {"task": "recall", "width": width, "length": length, "items": items}
    splits = world("bits", **options, train=2000, dev=50, test=50, long=300).splits()
    for split, rows in splits.items():
        for row in rows:
            asked, seen = asked_and_items(row["source"], width)
            assert len(seen) == int(row["count"])
            assert len(seen) == 2 * items[1] if split == "long" else items[0] <= len(seen) <= items[1]
            places = [place for place, item in enumerate(seen) if item == asked]
            assert len(places) == 1 and row["target"].split() == seen[places[0] + 1]


def test_too_few_different_items_are_said_so() -> None:
    with pytest.raises(
        RegardError, match="a row of the split long has 12 different items, but 3 × 1 bits make 8"
    ):
        world("bits", task="recall", width=3, length=(1, 1))
