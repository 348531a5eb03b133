"""Film talk: the answers, and that the last utterance alone does not reveal them."""

from __future__ import annotations

from collections import defaultdict

import pytest

from regard.data.turns import read_turns
from regard.worlds import world
from regard.worlds.film_talk import FILMS


@pytest.mark.parametrize("first", [False, True])
def test_every_answer_follows_from_the_turn_that_is_named_and_from_no_utterance(first: bool) -> None:
    splits = world("film-talk", train=600, dev=50, test=50, first=first).splits()
    dialogs = [row["dialog"] for rows in splits.values() for row in rows]
    assert len(set(dialogs)) == len(dialogs) == 700
    answers = defaultdict(set)
    facts = {film.title: {film.lead, film.director, film.year} for film in FILMS}
    for row in splits["train"]:
        turns = read_turns(row["dialog"])
        told = turns[int(row["told"])]
        title = next(title for title in facts if title in told.text.split())
        assert told.speaker == "B"
        offers = [turn for turn in turns if turn.speaker == "B" and set(turn.text.split()) & set(facts)]
        assert told == (offers[0] if "first" in row["utterance"] else offers[-1])
        assert turns[-1] == ("U", row["utterance"])
        assert int(row["distance"]) == len(turns) - int(row["told"]) >= 2
        assert facts[title] & set(row["response"].split())
        assert not any(film.title in row["utterance"].split() for film in FILMS)
        answers[row["utterance"]].add(row["response"])
    assert min(map(len, answers.values())) > 6  # of some thirty rows each; chance is about 1 in 20


def test_no_two_films_agree_in_anything() -> None:
    words = [word for film in FILMS for word in film]
    assert len(set(words)) == len(words)
