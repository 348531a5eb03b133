"""The rooms world: answers and facts follow from the lines, recovered from the text alone."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.worlds import world

MOVES = ("went", "moved", "travelled")
TAKES = ("took", "picked", "got")


def lived(story: str) -> list[tuple[str, str, str]]:
    """(person, action, room or object) of each line, from its words."""
    events = []
    for line in story.rstrip(".").split(". "):
        words = line.split()
        deed = "move" if words[1] in MOVES else "take" if words[1] in TAKES else "drop"
        events.append((words[0], deed, words[-1]))
    return events


def places(events: list[tuple[str, str, str]], of: str) -> list[str]:
    """The successive rooms of a person or an object, by simulating the story."""
    at: dict[str, str] = {}
    holder: dict[str, str] = {}
    seen: list[str] = []
    for who, deed, what in events:
        if deed == "move":
            at[who] = what
        elif deed == "take":
            assert at.get(what, at[who]) == at[who], "taken from another room"
            holder[what] = who
        else:
            assert holder.pop(what) == who, "put down by someone else"
            at[what] = at[who]
        here = at.get(holder[of]) if of in holder else at.get(of)
        if here is not None and (not seen or seen[-1] != here):
            seen.append(here)
    return seen


@pytest.fixture(scope="module")
def splits():
    return world("rooms", train=400, dev=50, test=100).splits()


def test_answers_follow_from_playing_the_story(splits) -> None:
    for row in (*splits["train"], *splits["test"]):
        words = row["question"].split()
        events = lived(row["story"])
        if words[1] == "is":
            assert places(events, words[-1])[-1] == row["answer"]
        else:
            rooms = places(events, words[3] if words[2] == "the" else words[2])
            assert rooms[rooms.index(words[-1]) - 1] == row["answer"]


def test_facts_lead_from_the_question_to_the_answer(splits) -> None:
    for row in splits["train"]:
        events, words = lived(row["story"]), row["question"].split()
        facts = [events[int(place)] for place in row["facts"].split()]
        assert facts[-1] == (facts[-2][0], "move", row["answer"])
        assert len({who for who, _, _ in facts}) == 1
        if words[1] == "is":
            about = [e for e in events if e[1] != "move" and e[2] == words[-1]]
            assert facts[0] == about[-1] and len(facts) == 2
        elif words[2] == "the":
            assert facts[0][1:] == ("take", words[3]) and facts[1][1:] == ("move", words[-1])
        else:
            assert facts[0] == (words[2], "move", words[-1])


def test_no_story_is_in_two_splits_and_lengths_are_as_promised(splits) -> None:
    stories = [row["story"] for rows in splits.values() for row in rows]
    assert len(set(stories)) == len(stories) == 550
    lengths = {story.count(".") for story in stories}
    assert min(lengths) == 4 and max(lengths) == 15
    counts = [len(row["facts"].split()) for row in splits["train"]]
    assert counts.count(2) == counts.count(3) == 200


def test_the_seed_determines_everything_and_test_rows_do_not_depend_on_train() -> None:
    one, again = (world("rooms", train=20, dev=5, test=9).splits() for _ in range(2))
    assert one == again
    assert world("rooms", train=3, dev=5, test=9).splits()["test"] == one["test"]
    assert world("rooms", train=20, dev=5, test=9, seed=2).splits() != one


def test_only_questions_with_so_many_facts() -> None:
    rows = world("rooms", train=30, dev=1, test=1, facts=3).splits()["train"]
    assert {len(row["facts"].split()) for row in rows} == {3}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"people": 4}, "people is 4, expected 5 to 8"),
        ({"facts": 4}, "facts is 4, expected 2, 3 or 0"),
        ({"longest": 5}, "at most 5 lines, too few for three facts"),
        ({"shortest": 9, "longest": 8}, "shortest is 9 and longest is 8"),
    ],
)
def test_options_that_cannot_be(options: dict[str, int], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        world("rooms", **options)
