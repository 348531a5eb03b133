"""Tree columns, projectivity, span schemes."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

from regard.data import Dataset, Row, TagsColumn, TextColumn, TreeColumn, column_from_state
from regard.data.columns.projectivity import crossing, fault, projectivize
from regard.data.columns.spans import first_fault, may_follow, rewrite, spans
from regard.errors import RegardError


def arcs_cross(heads: tuple[int, ...]) -> bool:
    """By definition: two of the arcs, drawn above the root symbol and the words, cross."""
    ends = [sorted((head, word)) for word, head in enumerate(heads, start=1)]
    return any(a < c < b < d for a, b in ends for c, d in ends)


def is_tree(heads: tuple[int, ...]) -> bool:
    """By definition: one root, and a path from every word to it."""
    if heads.count(0) != 1:
        return False
    for word in range(1, len(heads) + 1):
        for _ in heads:
            word = heads[word - 1] if word else 0
        if word:
            return False
    return True


def test_all_small_trees_are_told_from_what_is_none() -> None:
    for length in range(1, 6):
        trees = [heads for heads in product(range(length + 1), repeat=length) if fault(heads) is None]
        assert trees == [heads for heads in product(range(length + 1), repeat=length) if is_tree(heads)]
        assert len(trees) == length ** (length - 1), "Cayley's count of rooted trees"
        for heads in trees:
            assert (crossing(heads) is not None) == arcs_cross(heads)
            lifted = tuple(projectivize(heads))
            assert is_tree(lifted) and not arcs_cross(lifted)
            assert arcs_cross(heads) or lifted == heads


def test_words_are_hung_one_step_higher() -> None:
    # "A hearing is scheduled on the issue today": "on" is lifted from "hearing" to "is". The arc from
    # "scheduled" to "today" would then cross the new arc, so "today" is lifted to "is" too.
    assert projectivize([2, 3, 0, 3, 2, 7, 5, 4]) == [2, 3, 0, 3, 3, 7, 5, 3]


def test_trees_are_encoded_and_collated() -> None:
    column = TreeColumn("tree", of="words")
    column.learn(["2:nsubj 0:root 2:obl:in", "0:root"])
    assert column.classes == ["nsubj", "obl:in", "root"] and column.counts == [1, 1, 2]
    encoded = column.encode("2:nsubj 0:root 2:strange")
    assert encoded.tolist() == [2, 0, 0, 2, 2, -1] and column.cost(encoded) == 3
    assert column.decode([2, 0, 0, 2, 2, 1]) == "2:nsubj 0:root 2:obl:in"
    trees = column.collate([encoded, column.encode("0:root")])
    assert trees.heads.tolist() == [[2, 0, 2], [0, 0, 0]] and trees.lengths.tolist() == [3, 1]
    assert trees.relations.tolist() == [[0, 2, -1], [2, 0, 0]]
    assert trees.mask.tolist() == [[True] * 3, [True, False, False]]
    again = column_from_state(column.state())
    assert again.state() == column.state() and again.encode("1:nsubj 0:root").tolist() == [1, 0, 0, 2]


def test_heads_alone_need_no_relations() -> None:
    column = TreeColumn("tree", of="words")
    column.learn(["2 0 2"])
    assert column.size == 0
    assert column.encode("2 0 2").tolist() == [2, 0, 0, 0, 2, 0] and column.decode([2, 0, 0, 0]) == "2 0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2:a 0:a 9:a", "gives word 3 the head 9, but there are 3 words"),
        ("2:a 0:a 3:a", "gives word 3 itself"),
        ("2:a 3:a 1:a", "has no root"),
        ("0:a 0:a 1:a", "has 2 roots, words 1, 2, expected one"),
        ("0:a 3:a 2:a", "has a cycle: 2 ← 3 ← 2"),
        ("0:a x:a 2:a", "has 'x:a', expected head:relation"),
        ("0:a 1 2:a", "has '1' without a relation"),
        ("0:a 1:a", "has 2 heads for 3 tokens of words"),
        ("0:a 4:a 1:a", "head 4"),
    ],
)
def test_what_is_no_tree_is_refused(text: str, reason: str) -> None:
    words, tree = TextColumn("words"), TreeColumn("tree", of="words")
    words.learn(["a b c"])
    tree.learn(["0:a"])
    rows = [Row({"words": "a b c", "tree": text}, file="f", line=3)]
    with pytest.raises(RegardError, match="f:3") as error:
        Dataset.build(rows, [words, tree])
    assert reason in str(error.value)
    assert TreeColumn("t", of="w", single_root=False).check("0 0 1") is None


def test_nonprojective_trees_are_kept_refused_or_lifted_and_counted() -> None:
    rows = [Row({"words": "a b c d", "tree": "3 4 0 3"}), Row({"words": "a b", "tree": "2 0"})]
    words = TextColumn("words")
    words.learn(["a b c d"])
    assert TreeColumn("tree", of="words", nonprojective="keep").encode("3 4 0 3")[::2].tolist() == [
        3,
        4,
        0,
        3,
    ]
    with pytest.raises(RegardError, match="is not projective: the arcs to words 1 and 2 cross"):
        Dataset.build(rows, [words, TreeColumn("tree", of="words", nonprojective="refuse")])
    lifting = TreeColumn("tree", of="words", nonprojective="lift")
    dataset = Dataset.build(rows, [words, lifting])
    assert dataset[0]["tree"][::2].tolist() == [3, 3, 0, 3]
    assert dataset.raw(0)["tree"] == "3 4 0 3", "what is measured against stays as it was"
    assert dataset.remarks() == ["tree: 1 of 2 trees are not projective (1 arcs lifted)"]


def test_spans_by_the_conventions_of_conlleval() -> None:
    assert spans(["I-A", "I-A", "O", "I-A", "I-B", "B-B", "O"]) == [
        (0, 2, "A"),
        (3, 4, "A"),
        (4, 5, "B"),
        (5, 6, "B"),
    ]
    assert spans(["B-A", "I-A", "E-A", "S-B", "B-A"]) == [(0, 3, "A"), (3, 4, "B"), (4, 5, "A")]
    assert spans(["E-A", "E-A", "I-A", "O"]) == [(0, 1, "A"), (1, 2, "A"), (2, 3, "A")]
    assert rewrite(["I-A", "I-A", "B-A", "O"], "bio") == ["B-A", "I-A", "B-A", "O"]
    assert rewrite(["I-A", "I-A", "B-A", "O"], "bioes") == ["B-A", "E-A", "S-A", "O"]


@pytest.mark.parametrize("scheme", ["bio", "bioes"])
def test_what_may_follow_is_what_writing_spans_can_give(scheme: str) -> None:
    """Of all sequences of four tags, those of the scheme's grammar are allowed, and rewriting leaves them unchanged."""
    marks = "BI" if scheme == "bio" else "BIES"
    inner = r"(I-(?P=kind) )*"
    span = rf"B-(?P<kind>\w) {inner}" if scheme == "bio" else rf"S-\w |B-(?P<kind>\w) {inner}E-(?P=kind) "
    grammar = re.compile(f"(O |{span})*")
    tags = ["O", *(f"{mark}-{kind}" for mark in marks for kind in "XY")]
    for sequence in product(tags, repeat=4):
        steps = zip([None, *sequence], [*sequence, None], strict=True)
        allowed = all(may_follow(before, after, scheme) for before, after in steps)  # type: ignore[arg-type]
        assert allowed == (grammar.fullmatch("".join(f"{tag} " for tag in sequence)) is not None), sequence
        assert allowed == (rewrite(sequence, scheme) == list(sequence)), sequence  # type: ignore[arg-type]
        assert allowed == (first_fault(sequence, scheme) is None)  # type: ignore[arg-type]


def test_tags_columns_turn_schemes_and_refuse_what_is_none() -> None:
    column = TagsColumn("names", of="words", scheme="bioes", allowed="bioes")
    column.learn(["I-PER I-PER O", "I-LOC O O"])
    assert column.classes == ["B-PER", "E-PER", "O", "S-LOC"]
    assert column.normalize("I-PER I-PER O") == "B-PER E-PER O"
    assert np.array_equal(column.encode("I-PER I-PER I-LOC"), [0, 1, 3])
    strict = TagsColumn("names", of="words", allowed="bio")
    strict.learn(["B-PER I-PER O"])
    assert strict.check_value("O I-PER") == "has O before I-PER (token 2), which bio does not allow"
    assert column_from_state(column.state()).state() == column.state()
