"""Story and facts columns."""

from __future__ import annotations

import pytest

from regard.data import Dataset, FactsColumn, Row, StoryColumn, column_from_state
from regard.errors import RegardError

STORIES = ["Mary went home. John slept.", "it rained."]


@pytest.fixture
def story() -> StoryColumn:
    column = StoryColumn("story", case="lower", max_sentences=3, max_length=4)
    column.learn(STORIES)
    return column


def test_a_story_comes_back_as_it_was(story: StoryColumn) -> None:
    assert story.decode(story.encode("mary went  home.john slept")) == "mary went home. john slept."
    assert story.tokens(story.encode(STORIES[0])) == ["mary went home", "john slept"]
    assert story.tokens("a b. c") == ["a b", "c"]


def test_collate_puts_each_word_in_its_sentence(story: StoryColumn) -> None:
    batch = story.collate([story.encode(text) for text in STORIES])
    words = {
        word: int(story.words.encode(word)[0])
        for word in ["mary", "went", "home", "john", "slept", "it", "rained"]
    }
    (bucket,) = batch.buckets
    assert bucket.ids.tolist() == [
        [words["mary"], words["went"], words["home"]],
        [words["john"], words["slept"], 0],
        [words["it"], words["rained"], 0],
    ]
    assert bucket.lengths.tolist() == [3, 2, 2]
    assert batch.lengths.tolist() == [2, 1]
    assert batch.mask.tolist() == [[True, True], [True, False]]
    assert story.readable(batch) == [["mary went home", "john slept"], ["it rained"]]


def test_the_state_of_a_story_makes_it_again(story: StoryColumn) -> None:
    again = column_from_state(story.state())
    assert again.encode(STORIES[0]).tolist() == story.encode(STORIES[0]).tolist()
    assert again.state() == story.state()


def test_what_is_no_story_is_refused(story: StoryColumn) -> None:
    assert story.check(" . .") == "has no sentence, only '.'"
    assert story.check("it. it. it. it.") == "has 4 sentences, more than max_sentences 3"
    assert story.check("it it it it it.") == "has a sentence of 5 tokens, more than max_length 4"
    assert story.check("") == "is empty"
    with pytest.raises(RegardError, match="expected a punctuation mark that ends a sentence"):
        StoryColumn("story", mark=" ")


def test_another_mark() -> None:
    column = StoryColumn("story", mark="|")
    column.learn(["a b. | c"])
    assert column.tokens("a b. | c |") == ["a b.", "c"]


def test_facts_are_sentences_of_the_story(story: StoryColumn) -> None:
    facts = FactsColumn("facts", of="story")
    good = Row({"story": STORIES[0], "facts": "1 0"})
    batch = Dataset.build([good, Row({"story": STORIES[1], "facts": ""})], [story, facts]).batch([0, 1])
    assert batch["facts"].ids.tolist() == [[1, 0], [0, 0]]
    assert batch["facts"].lengths.tolist() == [2, 0]
    bad = Row({"story": STORIES[1], "facts": "0 1"}, file="a.tsv", line=4)
    with pytest.raises(RegardError, match=r"a.tsv:4.*names sentence 1, but story has 1 sentences \(0 to 0\)"):
        Dataset.build([good, bad], [story, facts])
    assert facts.check_value("1 x") == "has 'x', expected numbers of sentences such as 3 0"
