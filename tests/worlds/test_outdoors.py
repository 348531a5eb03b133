"""Outdoors: trees over their words, in which "outside" and "with" have one reading each."""

from __future__ import annotations

from regard.data.brackets import read_brackets
from regard.worlds import world
from regard.worlds.outdoors import SLIDES, WORN


def test_every_sentence_is_a_tree_with_one_reading() -> None:
    splits = {
        name: list(rows) for name, rows in world("outdoors", train=600, dev=50, test=100).splits().items()
    }
    rows = [row for one in splits.values() for row in one]
    assert len({row["words"] for row in rows}) == len(rows) == 750, (
        "a sentence with two trees would be here twice"
    )
    assert [row["phrases"] for row in splits["test"][:2]] == list(SLIDES)
    assert [row["words"] for row in splits["test"][:2]] == [
        "A boy is running outside .",
        "The men are fighting outside a deli .",
    ]
    for row in rows:
        tree = read_brackets(row["phrases"])
        words, spans = row["words"].split(), dict(zip(tree.spans, tree.labels, strict=True))
        assert tree.leaves == words and words[0][0].isupper() and words[-1] == "."
        for place, word in enumerate(words):
            tag = dict(zip(tree.leaves, (label for label, one in zip(tree.labels, tree.words, strict=True) if one),
                           strict=True))[word]  # fmt: skip
            if word == "outside":
                assert tag == ("ADV" if words[place + 1] == "." else "ADP")
            if word == "with":
                end = next(stop for (start, stop), label in spans.items() if start == place and label == "PP")
                parent = tree.labels[tree.parents[tree.spans.index((place, end))]]
                assert parent == ("NP" if words[end - 1] in WORN else "VP")
