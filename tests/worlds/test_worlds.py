"""Worlds: grammar, alignments, splits."""

from __future__ import annotations

from collections import Counter

import pytest

from regard.errors import RegardError
from regard.worlds import world
from regard.worlds.translation import translate
from regard.worlds.translation.lexicon import (
    ADJECTIVES,
    CONJUNCTIONS,
    DETERMINERS,
    NOUNS,
    PRONOUNS,
    VERBS,
    Adjective,
    Verb,
)
from regard.worlds.translation.syntax import (
    Clause,
    NounPhrase,
    Pair,
    Place,
    Predicate,
    Sentence,
    Subject,
)

N = {noun.english: noun for noun in NOUNS}
V = {verb.base: verb for verb in VERBS}
A = {adjective.english: adjective for adjective in ADJECTIVES}
D = {determiner.english: determiner for determiner in DETERMINERS}
P = {pronoun.english: pronoun for pronoun in PRONOUNS}


def np(determiner: str, noun: str, *adjectives: str, **more: object) -> NounPhrase:
    return NounPhrase(N[noun], D[determiner], adjectives=tuple(A[a] for a in adjectives), **more)  # type: ignore[arg-type]


def say(subject: Subject, verb: Verb | Adjective, tense: str = "present", **more: object) -> Sentence:
    return Sentence((Clause(subject, Predicate(verb, tense, **more)),))  # type: ignore[arg-type]


ME, SHE, THEY, YOU = P["I"], P["she"], P["they"], P["you"]
HOUSE = Place("in", np("the", "house", "old"))

# Written by hand from the rules of the language, not generated.
SENTENCES: list[tuple[Sentence, str, str, str]] = [
    (say(ME, V["go"], "progressive", adverb="home"), "I am going home", "main ghar ja raha hoon",
     "0-0 1-3 1-4 2-2 3-1"),
    (say(SHE, V["go"], "progressive"), "she is going", "vah ja rahi hai", "0-0 1-2 1-3 2-1"),
    (say(THEY, V["go"], "past"), "they went", "ve gaye", "0-0 1-1"),
    (say(ME, V["go"], "future"), "I will go", "main jaunga", "0-0 2-1"),
    (say(np("the", "house", "big", "red"), A["old"]), "the big red house is old", "makan bada laal purana hai",
     "1-1 2-2 3-0 4-4 5-3"),
    (say(np("my", "girl", "small", plural=True), V["eat"], "present", object=np("a", "mango")),
     "my small girls eat a mango", "meri larkiyan chhoti ek aam khati hain", "0-0 1-2 2-1 3-5 3-6 4-3 5-4"),
    (say(np("the", "boy"), V["sleep"], "past progressive", place=HOUSE), "the boy was sleeping in the old house",
     "larka makan purane mein so raha tha", "1-0 2-5 2-6 3-4 4-3 6-2 7-1"),
    (say(np("the", "boy"), V["see"], negative=True, object=SHE), "the boy does not see her",
     "larka use nahin dekhta hai", "1-0 2-4 3-2 4-3 5-1"),
    (say(YOU, V["help"], "can", object=np("the", "woman")), "you can help the woman", "aap aurat madad kar sakte hain",
     "0-0 1-4 1-5 2-2 2-3 4-1"),
    (say(SHE, V["come"], "should"), "she should come", "vah aana chahiye", "0-0 1-2 2-1"),
    (say(np("the", "man", relative=Predicate(V["sleep"], "progressive")), V["laugh"], "past"),
     "the man who is sleeping laughed", "aadmi jo so raha hai hansa", "1-0 2-1 3-3 3-4 4-2 5-5"),
    (say(Pair(np("the", "queen"), np("her", "sister")), V["dance"], "present"), "the queen and her sister dance",
     "rani aur uski bahan nachti hain", "1-0 2-1 3-2 4-3 5-4 5-5"),
    (say(Pair(np("the", "king"), np("the", "queen")), V["find"], "future", object=np("two", "key", plural=True)),
     "the king and the queen will find two keys", "raja aur rani do chabiyan dhoondhenge",
     "1-0 2-1 4-2 6-5 7-3 8-4"),
    (say(ME, A["happy"], negative=True), "I am not happy", "main khush nahin hoon", "0-0 1-3 2-2 3-1"),
    (say(ME, V["walk"], "past", place=Place("with", np("our", "friend", plural=True))), "I walked with our friends",
     "main hamare doston ke saath chala", "0-0 1-5 2-3 2-4 3-1 4-2"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "english", "target", "links"), SENTENCES, ids=[row[1] for row in SENTENCES]
)
def test_translations_written_by_hand(sentence: Sentence, english: str, target: str, links: str) -> None:
    assert translate(sentence) == (english, target, links)


def test_clauses_are_joined_in_order() -> None:
    sentence = Sentence((SENTENCES[1][0].clauses[0], SENTENCES[2][0].clauses[0]), ("because",))
    assert translate(sentence) == (
        "she is going because they went",
        "vah ja rahi hai kyonki ve gaye",
        "0-0 1-2 1-3 2-1 3-4 4-5 5-6",
    )


@pytest.fixture(scope="module")
def splits() -> dict:
    return world("translation", train=3000, dev=200, test=300, long=150).splits()


def test_sizes_lengths_and_vocabulary(splits: dict) -> None:
    assert {name: len(rows) for name, rows in splits.items()} == {
        "train": 3000,
        "dev": 200,
        "test": 300,
        "long": 150,
    }
    lengths = Counter(len(row["source"].split()) for row in splits["train"])
    assert set(lengths) == set(range(3, 21))
    assert min(lengths.values()) > 3000 / 18 / 2, "lengths are spread evenly"
    assert {len(row["source"].split()) for row in splits["long"]} == set(range(21, 31))
    words = {word for row in splits["train"] for word in row["source"].split()}
    assert len(words) >= 200
    unknown = [word for row in splits["long"] for word in row["source"].split() if word not in words]
    assert not unknown, "long sentences are made of the same words"


def test_no_sentence_occurs_twice(splits: dict) -> None:
    sources = [row["source"] for rows in splits.values() for row in rows]
    assert len(set(sources)) == len(sources)


def test_every_target_word_has_one_source_word_and_content_words_are_aligned(splits: dict) -> None:
    nouns = {form for noun in NOUNS for form in (noun.english, noun.plural)}
    content = nouns | {a.english for a in ADJECTIVES} | set(CONJUNCTIONS) | {"not", "who", "which"}
    content |= {form for verb in VERBS for form in (verb.third, verb.participle, verb.past)}
    stems = {a.english: a.target.removesuffix("a") for a in ADJECTIVES}
    for row in [*splits["test"], *splits["long"]]:
        source, target = row["source"].split(), row["target"].split()
        links = [tuple(map(int, link.split("-"))) for link in row["alignment"].split()]
        assert sorted(t for _, t in links) == list(range(len(target)))
        aligned = {s for s, _ in links}
        assert all(place in aligned for place, word in enumerate(source) if word in content), row
        for s, t in links:
            if source[s] in stems and source[s] != "clean":
                assert target[t].startswith(stems[source[s]])
            if source[s] == "not":
                assert target[t] == "nahin"


def test_the_translation_is_a_function_of_the_source() -> None:
    """Worlds with different seeds translate the same source alike."""
    found: dict[str, str] = {}
    met = 0
    for seed in (1, 2, 3):
        for row in world("translation", seed=seed, train=2500, dev=1, test=1, long=1, max_words=6).splits()[
            "train"
        ]:
            met += row["source"] in found
            assert found.setdefault(row["source"], row["target"]) == row["target"]
    assert met > 10


def test_worlds_are_determined_by_their_seed() -> None:
    sizes = {"train": 50, "dev": 5, "test": 5, "long": 5}
    for name in ("translation", "copy", "reverse"):
        assert world(name, seed=3, **sizes).splits() == world(name, seed=3, **sizes).splits()
        assert world(name, seed=3, **sizes).splits() != world(name, seed=4, **sizes).splits()
        row = world(name, seed=3, **sizes).splits()["dev"][1]
        assert row.where == f"{name}:dev:2"
        assert tuple(row) == world(name).fields == ("source", "target", "alignment")


@pytest.mark.parametrize("name", ["translation", "copy"])
def test_what_is_tested_on_does_not_depend_on_the_size_of_train(name: str) -> None:
    small, large = (world(name, train=size, dev=20, test=20, long=20).splits() for size in (10, 200))
    assert [small[name] for name in ("dev", "test", "long")] == [
        large[name] for name in ("dev", "test", "long")
    ]


def test_copy_and_reverse() -> None:
    for name, sign in (("copy", 1), ("reverse", -1)):
        splits = world(name, train=300, dev=20, test=20, long=30, max_length=6).splits()
        for row in splits["train"]:
            source, target = row["source"].split(), row["target"].split()
            assert target == source[::sign]
            for link in row["alignment"].split():
                s, t = map(int, link.split("-"))
                assert source[s] == target[t]
                assert t == (s if sign == 1 else len(source) - 1 - s)
        assert {len(row["source"].split()) for row in splits["long"]} == {7, 8, 9}
        sources = [row["source"] for rows in splits.values() for row in rows]
        assert len(set(sources)) == len(sources)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "tranlation",
            {},
            "no world 'tranlation'. Did you mean translation\\?",
        ),
        ("copy", {"sede": 1}, "the world copy has no option 'sede'; it has seed, .*Did you mean seed"),
        ("copy", {"train": "many"}, "world copy: train is 'many', expected a valid integer"),
        ("copy", {"train": -5}, "train is -5"),
        ("copy", {"seed": -1}, "seed is -1"),
        ("copy", {"seed": 10**20}, f"seed is {10**20}"),
        ("copy", {"symbols": 1}, "symbols is 1, expected 2 to 26"),
        ("reverse", {"symbols": 2, "max_length": 4}, "too few strings of 2 symbols up to length 4"),
        ("translation", {"max_words": 3}, "max_words is 3, expected at least 6"),
    ],
)
def test_worlds_that_cannot_be(name: str, options: dict, message: str) -> None:
    with pytest.raises(RegardError, match=message):
        world(name, **options)


def test_translation_by_characters_has_the_words_characters_as_their_segments():
    small = {"train": 20, "dev": 5, "test": 5, "long": 2, "max_words": 6}
    words = world("translation", **small).splits()["train"]
    letters = world("translation", characters=True, **small).splits()["train"]
    for by_word, by_letter in zip(words, letters, strict=True):
        assert by_letter["source"] == by_word["source"].replace(" ", "")
        assert by_letter["target"] == by_word["target"]
        source, target = by_word["source"].split(), by_word["target"].split()
        for place in range(len(target)):
            linked = [
                int(s)
                for s, t in (link.split("-") for link in by_word["alignment"].split())
                if int(t) == place
            ]
            found = [
                int(s)
                for s, t in (link.split("-") for link in by_letter["alignment"].split())
                if int(t) == place
            ]
            assert "".join(by_letter["source"][s] for s in found) == "".join(
                source[s] for s in sorted(linked)
            )


def test_an_option_that_is_a_yes_or_no_refuses_a_number():
    with pytest.raises(RegardError, match="characters is 1, expected a valid boolean"):
        world("translation", characters=1)
