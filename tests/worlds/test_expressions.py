"""The expressions world: values by another evaluator, trees, splits; and the phrases of the grammar world."""

from __future__ import annotations

import re
import statistics

import pytest

from regard.data.brackets import read_brackets
from regard.worlds import world


@pytest.fixture(scope="module")
def splits() -> dict:
    return world("expressions", train=2000, dev=200, test=300).splits()


def evaluated(text: str) -> int:
    """Evaluate the innermost lists first, until a digit is left."""
    functions = {
        "MIN": min,
        "MAX": max,
        "MED": lambda values: int(statistics.median(values)),
        "SM": lambda values: sum(values) % 10,
    }
    while "[" in text:
        text = re.sub(
            r"\[(\w+) ([\d ]+) \]",
            lambda found: str(functions[found[1]](list(map(int, found[2].split())))),
            text,
        )
    return int(text)


def test_values_and_trees(splits: dict) -> None:
    for rows in splits.values():
        for row in rows:
            assert evaluated(row["expression"]) == int(row["value"])
            tree, values = read_brackets(row["tree"], labels=False), read_brackets(row["values"])
            assert " ".join(tree.leaves) == row["expression"]  # the tree has no other words
            assert tree.children == values.children and values.labels[-1] == row["value"]
            for place, (first, end) in enumerate(tree.spans):
                if tree.words[place] is None:
                    assert evaluated(" ".join(tree.leaves[first:end])) == int(values.labels[place])
    assert [evaluated(text) for text in ("[MED 1 2 ]", "[SM 7 8 ]", "[MAX 2 9 [MIN 4 7 ] 0 ]")] == [1, 5, 9]


def depth(text: str) -> int:
    level = deepest = 0
    for sign in text.split():
        level += sign.startswith("[") - (sign == "]")
        deepest = max(deepest, level)
    return deepest


def test_splits_and_options(splits: dict) -> None:
    held = [row["expression"] for split in ("dev", "test") for row in splits[split]]
    assert len(held) == len(set(held)) == 500
    assert not set(held) & {row["expression"] for row in splits["train"]}
    depths = [depth(row["expression"]) for row in splits["test"]]
    assert [depths.count(level) for level in range(1, 5)] == [75] * 4
    again = world("expressions", train=10, dev=200, test=300).splits()
    assert [dict(row) for row in again["test"]] == [dict(row) for row in splits["test"]]
    long = world("expressions", train=50, dev=0, test=0, depth=1, arguments=6).splits()["train"]
    assert {len(row["expression"].split()) - 2 for row in long} == {2, 3, 4, 5, 6}


def test_phrases_of_the_grammar_world() -> None:
    rows = world("grammar", train=400, dev=50, test=50, crossing=0.3).splits()["train"]
    for row in rows:
        tree = read_brackets(row["phrases"])
        assert " ".join(tree.leaves) == row["words"]
        tags = [label for label, word in zip(tree.labels, tree.words, strict=True) if word is not None]
        assert tags == row["tags"].split()
        assert tree.linear() == row["parse"] and row["parse"].split().count("XX") == len(tags)
        assert set(tree.labels) - set(tags) <= {"S", "NP", "VP", "PP", "SBAR", "CONJP", "ADJP", "ADVP", "X"}


def test_a_sentence_in_phrases() -> None:
    from regard.worlds.grammar import ParsedSentence
    from regard.worlds.grammar.phrases import brackets

    sentence = ParsedSentence(
        ("you", "saw", "the", "dog", "in", "it", "."),
        ("PRON", "VERB", "DET", "NOUN", "ADP", "PRON", "PUNCT"),
        (2, 0, 4, 2, 6, 4, 2),
        ("nsubj", "root", "det", "obj", "case", "nmod", "punct"),
    )
    assert brackets(sentence) == (
        "(S (NP (PRON you)) (VP (VERB saw) (NP (DET the) (NOUN dog) (PP (ADP in) (NP (PRON it))))) (PUNCT .))"
    )
