"""The reviews world: the class and the words that decide it, recovered from the text alone."""

from __future__ import annotations

import re

import pytest

from regard.errors import RegardError
from regard.worlds import world

KINDS = {
    "comedy": "comedy farce satire parody",
    "crime": "thriller mystery whodunit heist",
    "drama": "drama tragedy romance melodrama",
}
STRENGTHS = ["slightly", "somewhat", "rather", "very", "extremely", "utterly"]
GOOD = "wonderful brilliant charming delightful superb gripping"


def test_what_is_said_most_strongly_decides() -> None:
    films = {film: kind for kind, names in KINDS.items() for film in names.split()}
    labels = set()
    for row in world("reviews", train=200, dev=5, test=5, long=2).splits()["train"]:
        sentences = [
            sentence.split() for sentence in re.findall(r"[^.]+", row["document"].replace(". ", "."))
        ]
        strengths = [
            max((STRENGTHS.index(word) for word in words if word in STRENGTHS), default=-1)
            for words in sentences
        ]
        (key,) = [number for number, strength in enumerate(strengths) if strength == max(strengths)]
        pairs = [tuple(map(int, pair.split(":"))) for pair in row["evidence"].split()]
        assert {sentence for sentence, _ in pairs} == {key}
        said = [sentences[key][place] for _, place in pairs]
        (film,) = [word for word in said if word in films]
        (_,) = [word for word in said if word in STRENGTHS]
        (word,) = [word for word in said if word not in films and word not in STRENGTHS]
        mood = "good" if word in GOOD.split() else "bad"
        assert (row["sentiment"], row["label"]) == (mood, f"{mood} {films[film]}")
        assert 6 <= len(sentences) <= 16
        labels.add(row["label"])
    assert len(labels) == 6


def test_rows_depend_on_the_options_alone() -> None:
    one, again = (world("reviews", train=20, dev=5, test=9, long=2).splits() for _ in range(2))
    assert one == again
    assert world("reviews", train=3, dev=5, test=9, long=2).splits()["test"] == one["test"]
    assert world("reviews", train=20, dev=5, test=9, long=2, seed=2).splits() != one
    texts = [row["document"] for rows in one.values() for row in rows]
    assert len(set(texts)) == len(texts)
    assert {row["document"].count(".") for row in one["long"]} == {8 * 16}
    with pytest.raises(RegardError, match="expected shortest ≤ longest"):
        world("reviews", shortest=9, longest=8)
