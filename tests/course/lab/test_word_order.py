"""The sentences of the lab of word order: their links are those of a dictionary, and only adjectives of color cross."""

from __future__ import annotations

from itertools import pairwise

from regard.course.lab.word_order import sentences, true_order

LEXICON = {
    "the": "le la", "car": "voiture", "house": "maison", "door": "porte", "box": "boîte", "boat": "bateau",
    "hat": "chapeau", "book": "livre", "coat": "manteau", "small": "petit petite", "big": "grand grande",
    "pretty": "joli jolie", "green": "vert verte", "white": "blanc blanche", "black": "noir noire",
    "hides": "cache", "follows": "suit", "covers": "couvre", "shows": "montre",
}  # fmt: skip


def test_links_are_those_of_a_dictionary_and_colors_cross() -> None:
    for backward in (False, True):
        known, new = sentences(0, backward=backward)
        assert not {one.source for one in known} & {one.source for one in new}
        for one in (*known, *new):
            assert sorted(one.links) == list(range(len(one.source)))
            for word, place in zip(one.target, one.links, strict=True):
                assert word in LEXICON[one.source[place]].split()
            step = 1 if backward else -1
            crossed = [t for t, (a, b) in enumerate(pairwise(one.links)) if b - a == step]
            assert one.moved == tuple(t + k for t in crossed for k in (0, 1))
            assert all(one.source[one.links[t + 1]] in ("green", "white", "black") for t in crossed)
    assert true_order(sentences(0)[1]) > 0.85 and true_order(sentences(0, backward=True)[1]) < -0.85


def test_articles_and_adjectives_agree_with_their_noun() -> None:
    feminine = {"voiture", "maison", "porte", "boîte"}
    for one in sentences(1)[0]:
        article = ""
        for word in one.target:
            if word in ("le", "la"):
                article = word
            elif word in {"voiture", "maison", "porte", "boîte", "bateau", "chapeau", "livre", "manteau"}:
                assert (word in feminine) == (article == "la")
            elif word in {"verte", "blanche", "noire", "petite", "grande", "jolie"}:
                assert article == "la"
            elif word in {"vert", "blanc", "noir", "petit", "grand", "joli"}:
                assert article == "le"
