"""The entities world: answers and positions, recovered by reading the documents alone."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

from regard.errors import RegardError
from regard.worlds import world

GAP = "@placeholder"


def told(line: list[str]) -> tuple[str, str, str]:
    """(agent, action, patient), from the words of a line."""
    if line[1] == "was":
        assert line[3] == "by"
        return line[4], line[2], line[0]
    return line[0], line[1], line[2]


def lines(document: str) -> list[list[str]]:
    assert document.endswith(" .")
    return [line.split() for line in document[:-2].split(" . ")]


@pytest.fixture(scope="module")
def splits():
    return world("entities", train=600, dev=50, test=200).splits()


def test_one_line_answers_and_the_place_is_in_it(splits) -> None:
    for row in chain(*splits.values()):
        who, what, whom = told(row["question"].split())
        answers, place = [], 0
        for line in lines(row["document"]):
            agent, verb, patient = told(line)
            if verb == what and who in (GAP, agent) and whom in (GAP, patient):
                answer = agent if who == GAP else patient
                answers.append((answer, f"{place + line.index(answer)}-0"))
            place += len(line) + 1
        assert answers == [(row["answer"], row["place"])]


def test_neither_the_verb_nor_the_name_alone_leads_to_the_answer(splits) -> None:
    for row in splits["train"]:
        who, what, whom = told(row["question"].split())
        known = whom if who == GAP else who
        others = [told(line) for line in lines(row["document"])]
        assert sum(verb == what for _, verb, _ in others) >= 2
        assert sum(known in (agent, patient) for agent, _, patient in others) >= 2


def test_names_say_nothing(splits) -> None:
    answers = Counter(row["answer"] for row in chain(*splits.values()))
    assert len(answers) == 8 and max(answers.values()) < 1.5 * min(answers.values())


def test_the_same_rows_every_time_and_none_twice() -> None:
    made = [world("entities", seed=3, train=60, dev=20, test=20).splits() for _ in range(2)]
    assert made[0] == made[1]
    documents = [row["document"] for row in chain(*made[0].values())]
    assert len(set(documents)) == len(documents) == 100
    assert world("entities", seed=3, train=90, dev=20, test=20).splits()["test"] == made[0]["test"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"entities": 3}, "expected 4 to 50"),
        ({"shortest": 2}, "expected 3 ≤ shortest ≤ longest ≤ 40"),
        ({"shortest": 6, "longest": 5}, "shortest is 6 and longest is 5"),
        ({"longest": 41}, "expected 3 ≤ shortest ≤ longest ≤ 40"),
        ({"passive": 1.5}, "share from 0 to 1"),
    ],
)
def test_options_are_checked(options: dict[str, float], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        world("entities", **options)


def test_the_smallest_and_the_longest_documents_can_be_told() -> None:
    for options in (
        {"entities": 4, "shortest": 3, "longest": 3},
        {"entities": 4, "shortest": 40, "longest": 40},
    ):
        rows = world("entities", train=5, dev=1, test=1, **options).splits()["train"]
        assert {len(lines(row["document"])) for row in rows} == {options["longest"]}
