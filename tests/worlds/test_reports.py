"""The reports world: headlines follow from the one sentence with news, and test names are new."""

from __future__ import annotations

import pytest

from regard.errors import RegardError
from regard.worlds import world

SAID = {
    "opened": "opens",
    "bought": "buys",
    "sold": "sells",
    "found": "finds",
    "lost": "loses",
    "built": "builds",
    "closed": "closes",
    "burned": "burns",
}


@pytest.fixture(scope="module")
def splits():
    return world("reports", train=300, dev=40, test=60).splits()


def is_name(word: str) -> bool:
    return word[0].isupper() and word not in ("On", "In", "The")


def sentences(report: str) -> list[list[str]]:
    return [sentence.split() for sentence in report.split(" .") if sentence.split()]


def test_a_headline_is_read_off_the_one_sentence_with_news(splits) -> None:
    for row in (*splits["train"], *splits["test"]):
        news = [one for one in sentences(row["report"]) if set(one) & set(SAID)]
        assert len(news) == 1
        words, verb = news[0], next(word for word in news[0] if word in SAID)
        names = [word for word in words if is_name(word)]
        role, given, family, said, kind, thing, inside, town = row["summary"].split()
        assert said == SAID[verb] and inside == "in"
        assert {given, family, town} == set(names)
        assert [role, given, family] == words[words.index(given) - 1 : words.index(family) + 1]
        assert words[words.index(kind) + 1] == thing
        assert words[words.index(town) - 1].lower() in ("in", "of")
        for pair in row["evidence"].split():
            sentence, word = map(int, pair.split(":"))
            assert sentences(row["report"])[sentence][word] in (*row["summary"].split(), verb)


def test_links_join_each_word_with_the_one_it_comes_from(splits) -> None:
    for row in splits["test"]:
        report, summary = row["report"].split(), row["summary"].split()
        links = [tuple(map(int, link.split("-"))) for link in row["alignment"].split()]
        assert {target for _, target in links} >= set(range(8)) - {6}
        for source, target in links:
            assert report[source] == summary[target] or SAID[report[source]] == summary[target]


def names(rows) -> set[str]:
    return {word for row in rows for word in row["report"].split() if is_name(word)}


def test_names_of_the_test_are_never_met_in_training(splits) -> None:
    assert not names(splits["train"]) & (names(splits["dev"]) | names(splits["test"]))


def test_so_many_names_are_the_same_everywhere() -> None:
    few = world("reports", train=200, dev=50, test=50, names=5).splits()
    assert names(few["train"]) == names(few["test"]) and len(names(few["train"])) == 5


def test_a_split_stays_the_same_whatever_the_others_are(splits) -> None:
    again = world("reports", train=10, dev=5, test=60).splits()
    assert [dict(row) for row in again["test"]] == [dict(row) for row in splits["test"]]


@pytest.mark.parametrize("options", [{"shortest": 0}, {"shortest": 4, "longest": 3}, {"names": 2}])
def test_what_cannot_be_is_refused(options) -> None:
    with pytest.raises(RegardError):
        world("reports", **options)
