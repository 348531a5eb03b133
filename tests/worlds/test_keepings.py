"""Keepings: the answer can be read off the text without the program that wrote it."""

from __future__ import annotations

import re

from regard.worlds.keepings import PLACES, KeepingsWorld

SENTENCE = re.compile(rf"(\w+) keeps (the (?:\w+ )?(\w+)) in (the (?:\w+ )?(?:{'|'.join(PLACES)}))")


def test_one_span_answers_each_question() -> None:
    for row in KeepingsWorld(train=200, dev=10, test=10).splits()["train"]:
        first, last = map(int, row["span"].split("-"))
        answer = " ".join(row["text"].split()[first : last + 1])
        facts = [SENTENCE.match(one.strip()) for one in row["text"].split(" .") if one.strip()]
        assert all(facts), row["text"]
        ask, last_word = row["question"].split()[0], row["question"].split()[-1]
        named = row["question"].split()[2] if last_word in ("it", "keep") else last_word
        (fact,) = [one for one in facts if named in (one[1], one[3])]
        assert answer == {"who": fact[1], "what": fact[2], "where": fact[4]}[ask], row
