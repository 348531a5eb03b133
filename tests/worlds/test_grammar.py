"""The grammar world: trees, ambiguity, splits."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.grammar import Grammar, Node, ParsedSentence
from regard.worlds.grammar.attachment import free_meanings, licensed
from regard.worlds.grammar.lexicon import LICENSES


@pytest.fixture(scope="module")
def splits() -> dict:
    return world("grammar", train=2000, dev=100, test=200).splits()


def heads_of(row: dict) -> list[int]:
    return [int(arc.split(":", 1)[0]) for arc in row["tree"].split()]


def crossings(heads: list[int]) -> int:
    arcs = [tuple(sorted((head, word))) for word, head in enumerate(heads, start=1)]
    return sum(a < c < b < d for a, b in arcs for c, d in arcs)


def reaches_root(heads: list[int]) -> bool:
    for word in range(1, len(heads) + 1):
        seen = set()
        while word and word not in seen:
            seen.add(word)
            word = heads[word - 1]
        if word:
            return False
    return True


def test_every_row_is_a_projective_tree_with_one_root(splits: dict) -> None:
    for rows in splits.values():
        for row in rows:
            heads, words, tags = heads_of(row), row["words"].split(), row["tags"].split()
            assert len(heads) == len(words) == len(tags) <= 25
            assert heads.count(0) == 1 and reaches_root(heads) and not crossings(heads), row
            assert [arc.endswith(":root") for arc in row["tree"].split()] == [head == 0 for head in heads]


def test_splits_share_no_sentence_and_depend_on_the_seed_alone(splits: dict) -> None:
    sentences = [row["words"] for rows in splits.values() for row in rows]
    assert len(sentences) == len(set(sentences)) == 2300
    again = world("grammar", train=50, dev=100, test=200).splits()
    assert [dict(row) for row in again["test"]] == [dict(row) for row in splits["test"]]
    other = world("grammar", train=50, dev=100, test=200, seed=2).splits()
    assert [row["words"] for row in other["test"]] != [row["words"] for row in splits["test"]]


def test_words_tags_and_chains_of_neighbours(splits: dict) -> None:
    tags: dict[str, Counter] = defaultdict(Counter)
    previous = following = total = 0
    for row in splits["train"]:
        heads = heads_of(row)
        total += len(heads)
        previous += sum(head == word - 1 for word, head in enumerate(heads, start=1))
        following += sum(head == (word + 1) % (len(heads) + 1) for word, head in enumerate(heads, start=1))
        for word, tag in zip(row["words"].split(), row["tags"].split(), strict=True):
            tags[word][tag] += 1
    assert len(tags) >= 200
    assert previous / total < 0.5 and following / total < 0.5
    assert sum(len(counts) > 1 for counts in tags.values()) >= 40
    assert sum(max(counts.values()) for counts in tags.values()) / total < 0.96, (
        "words alone do not tell the tags"
    )
    assert set(tags["her"]) == {"DET", "PRON"} and set(tags["that"]) == {"DET", "PRON", "SCONJ"}
    assert set(tags["saw"]) == {"NOUN", "VERB"} and set(tags["can"]) == {"AUX", "NOUN"}


def test_prepositional_phrases_hang_from_nouns_and_from_verbs_by_their_words(splits: dict) -> None:
    found: dict[tuple[str, str], Counter] = defaultdict(Counter)
    for row in splits["train"]:
        words, tags, heads = row["words"].split(), row["tags"].split(), heads_of(row)
        for word, head in enumerate(heads, start=1):
            if tags[word - 1] == "ADP" and words[word - 1] in ("with", "from", "in"):
                host = heads[head - 1]
                found[words[word - 1], words[head - 1]][tags[host - 1] if host else "ROOT"] += 1
    assert set(found["with", "telescope"]) == {"VERB"} and set(found["with", "hat"]) == {"NOUN"}
    assert {"NOUN", "VERB"} <= set(found["from", "village"]), "here the host decides, not the preposition"


def test_centre_embedding_two_deep() -> None:
    grammar = Grammar(3)
    deep = 0
    for _ in range(3000):
        sentence = grammar.sentence()
        relatives = [i for i, name in enumerate(sentence.relations) if name == "acl:relcl"]
        # a clause within the subject of a clause within a noun phrase
        deep += any(
            sentence.heads[inner] - 1 in [i for i, head in enumerate(sentence.heads) if head - 1 == outer]
            for outer in relatives
            for inner in relatives
            if inner < outer
        )
    assert deep >= 5


def test_crossing_makes_some_trees_nonprojective() -> None:
    rows = world("grammar", train=400, dev=1, test=1, crossing=0.5).splits()["train"]
    crossed = sum(crossings(heads_of(row)) > 0 for row in rows)
    assert 40 < crossed < 360
    assert all(reaches_root(heads_of(row)) and heads_of(row).count(0) == 1 for row in rows)


def test_a_sentence_from_its_nodes() -> None:
    dog = Node("dog", "NOUN", "nsubj", before=[Node("the", "DET", "det")])
    dog.late.append(Node("sang", "VERB", "acl:relcl", before=[Node("that", "PRON", "nsubj")]))
    root = Node("slept", "VERB", before=[dog], after=[Node(".", "PUNCT", "punct")])
    assert root.sentence() == ParsedSentence(
        ("the", "dog", "slept", "that", "sang", "."),
        ("DET", "NOUN", "VERB", "PRON", "VERB", "PUNCT"),
        (2, 3, 0, 5, 2, 3),
        ("det", "nsubj", "root", "nsubj", "acl:relcl", "punct"),
    )
    assert root.sentence().tree == "2:det 3:nsubj 0:root 5:nsubj 2:acl:relcl 3:punct"


def test_a_phrase_is_only_given_where_no_nearer_word_can_take_it() -> None:
    hat = Node("hat", "NOUN", kind=frozenset({"clothing"}))
    man = Node("man", "NOUN", kind=frozenset({"person"}), after=[hat])
    saw = Node("saw", "VERB", kind=frozenset({"look", "source", "located"}), after=[man])
    free = free_meanings(saw, saw.right_edge())
    assert ("with", "optical") in free and ("in", "place") in free
    assert ("from", "place") not in free, "the man can be from there"
    assert licensed(saw, ("from", "place")) and all(meaning in LICENSES for meaning in free)


def test_options_are_checked() -> None:
    with pytest.raises(RegardError, match="max_words is 3, expected at least 6"):
        world("grammar", max_words=3)
    with pytest.raises(RegardError, match="crossing is 2"):
        world("grammar", crossing=2)
