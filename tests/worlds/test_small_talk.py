"""Small talk: the utterance alone decides the response."""

from __future__ import annotations

from regard.worlds import world
from regard.worlds.small_talk import NAMES, TOPICS


def test_every_response_follows_from_its_utterance() -> None:
    splits = world("small-talk", train=1000, dev=100, test=100).splits()
    rows = [row for one in splits.values() for row in one]
    assert len({row["utterance"] for row in rows}) == len(rows) == 1200
    alone = {question for asked, _ in TOPICS.values() for question in asked}
    assert alone <= {row["utterance"] for row in splits["train"]}
    for row in rows:
        question = row["utterance"].split(" , ")[-1]
        (topic,) = {
            name for name, (asked, _) in TOPICS.items() if any(question.startswith(one) for one in asked)
        }
        assert topic == row["topic"]
        *address, answer = row["response"].split(" , ")
        assert answer == TOPICS[topic][1]
        named = {word for word in row["utterance"].split() if word in NAMES}
        assert named == {word for text in address for word in text.split() if word in NAMES}
        greeted = row["utterance"].startswith(("hello", "hi ,", "good "))
        assert bool(address) == (greeted or bool(named))
        if greeted:
            assert address[0].startswith(row["utterance"].split(" , ")[0])
