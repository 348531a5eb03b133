"""The films world: captions agree with the pixels, which are checked alone."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.arrays import array_from_uri
from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.films.drawing import COLORS

ACTIONS = {
    *("moves left", "moves right", "moves up", "moves down", "grows", "shrinks"),
    *("turns", "jumps", "circles", "blinks", "shakes"),
}


@pytest.fixture(scope="module")
def splits():
    return world("films", train=300, dev=20, test=300).splits()


def spans(places: str, length: int) -> dict[int, tuple[int, int]]:
    """{token: (first frame, frame after the last)}"""
    found = {}
    for place in places.split():
        token, _, span = place.partition(":")
        first, last = (round(float(number) * length) for number in span.split(","))
        found[int(token)] = first, last
    return found


def clauses(caption: str) -> list[tuple[str, str, str, int]]:
    """(color, shape, action, position of its first word) of each event, from the words."""
    found, token = [], 0
    for clause in caption.split(" then "):
        words = clause.split()
        found.append((words[1], words[2], " ".join(words[3:]), token))
        token += len(words) + 1
    return found


def covered(frames: np.ndarray, color: str) -> np.ndarray:
    """(T, H, W) pixels that have exactly this color."""
    return (np.abs(frames.astype(int) - np.array(COLORS[color])) <= 1).all(-1)


def centres(shown: np.ndarray) -> np.ndarray:
    """(T, 2) mean row and column of the covered pixels."""
    rows, columns = np.mgrid[: shown.shape[1], : shown.shape[2]]
    total = np.maximum(shown.sum((1, 2)), 1)
    return np.stack([(shown * rows).sum((1, 2)) / total, (shown * columns).sum((1, 2)) / total], -1)


def test_nothing_changes_outside_the_told_frames_and_most_inside(splits) -> None:
    for row in splits["train"][:100]:
        frames = array_from_uri(row["film"])
        changed = np.append(False, (frames[1:] != frames[:-1]).any((1, 2, 3)))
        found = spans(row["places"], len(frames))
        for *_, token in clauses(row["caption"]):
            (start, stop), (first, last) = found[token + 1], found[token + 3]
            assert start <= first < last <= stop
            assert changed[max(first, start + 1) : last].mean() >= 0.5, row["caption"]
            changed[first:last] = False
            changed[start] = False  # a new shot
        assert not changed.any(), row["caption"]


def test_actions_are_what_the_pixels_do(splits) -> None:
    seen = set()
    for row in splits["test"]:
        frames = array_from_uri(row["film"])
        color, _, action, _ = clauses(row["caption"])[0]
        assert row["action"] == action
        ((first, last),) = spans(row["moment"], len(frames)).values()
        shown = covered(frames[max(first - 1, 0) : last], color)
        size = shown.sum((1, 2))
        seen.add(action)
        if action == "blinks":
            assert size.min() == 0 and size.max() > 10
            continue
        (down, right), moved = centres(shown)[-1] - centres(shown)[0], np.ptp(centres(shown), axis=0)
        if action.startswith("moves"):
            toward = {"left": (0, -1), "right": (0, 1), "up": (-1, 0), "down": (1, 0)}[action.split()[1]]
            assert np.allclose((down, right), np.array(toward) * 9, atol=2.5), row["caption"]
        elif action in ("grows", "shrinks"):
            assert (size[-1] > 1.5 * size[0]) == (action == "grows")
            assert (size[-1] < 0.6 * size[0]) == (action == "shrinks")
        elif action == "jumps":
            assert moved[0] > 5 and moved[1] < 1
        elif action == "shakes":
            assert moved[1] > 4 and moved[0] < 1
        elif action == "circles":
            assert moved.min() > 5
    assert seen == ACTIONS


def test_words_have_the_frames_of_their_clause(splits) -> None:
    row = next(row for row in splits["train"] if " then " in row["caption"])
    length = len(array_from_uri(row["film"]))
    found = spans(row["places"], length)
    words = row["caption"].split()
    assert [words[token] for token in sorted(found)] == [
        word for word in words if word not in ("the", "then")
    ]
    (*_, start), (*_, second) = clauses(row["caption"])
    assert found[start + 1][0] == 0 and found[start + 1][1] == found[second + 1][0]
    assert found[second + 1][1] == length and found[start + 1] == found[start + 2]
    assert all(found[token + 3][1] - found[token + 3][0] == 5 for token in (start, second))


def test_those_who_stand_by_are_there_and_not_told_of() -> None:
    alone, together = (
        world("films", train=30, dev=0, test=0, events=1, others=others).splits()["train"]
        for others in (0, 2)
    )
    for row, known in ((alone, 1), (together, 3)):
        shown = [sum(covered(array_from_uri(film["film"]), color).any() for color in COLORS) for film in row]
        assert np.mean(shown) > known - 0.5 and max(shown) == known
    assert len(together[0]["caption"].split()) <= 5


def test_the_same_every_time_and_no_film_twice(splits) -> None:
    again = world("films", train=5, dev=20, test=10).splits()
    assert [row["film"] for row in again["train"]] == [row["film"] for row in splits["train"][:5]]
    assert [row["film"] for row in again["dev"]] == [row["film"] for row in splits["dev"]]
    films = [row["film"] for rows in splits.values() for row in rows]
    assert len(set(films)) == len(films)
    assert splits["train"][3].where == "films:train:4"


def test_one_event_and_other_sizes() -> None:
    (row,) = world("films", train=1, dev=0, test=0, events=1, size=32, pause=0).splits()["train"]
    assert array_from_uri(row["film"]).shape == (5, 32, 32, 3)
    assert row["moment"] == "0:0.0000,1.0000" and " then " not in row["caption"]


@pytest.mark.parametrize("option", [{"events": 6}, {"size": 16}, {"pause": -1}, {"others": 4}])
def test_impossible_options(option: dict[str, int]) -> None:
    with pytest.raises(RegardError, match="expected"):
        world("films", **option)
