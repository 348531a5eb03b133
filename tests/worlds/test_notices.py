"""Notices: the words of a topic stand where the truth says, in sentences that mention them."""

from __future__ import annotations

from regard.worlds.notices import DENIALS, MENTIONS, TOPICS, NoticesWorld


def test_topics_follow_from_the_words_of_mentions_alone() -> None:
    said = {
        form.format(word=word): topic
        for topic, several in TOPICS.items()
        for word in several
        for form in MENTIONS
    }
    denied = {form.format(word=word) for several in TOPICS.values() for word in several for form in DENIALS}
    rows = list(NoticesWorld(train=200, dev=20, test=20).splits()["train"])
    assert len({row["text"] for row in rows}) == 200
    for row in rows:
        sentences = [one.strip() for one in row["text"].split(" .") if one.strip()]
        assert row["topics"].split("|") == (sorted({said[one] for one in sentences if one in said}) or [""])
        words = row["text"].split()
        places = [item.split(":") for item in row["words"].split()]
        assert all(words[int(place)] in TOPICS[topic] for topic, place in places)
        assert len(places) == sum(one in said for one in sentences)
    assert any(not row["topics"] for row in rows) and any(row["topics"].count("|") > 1 for row in rows)
    assert any(one.strip() in denied for row in rows for one in row["text"].split(" ."))
