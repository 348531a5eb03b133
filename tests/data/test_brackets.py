"""Trees in brackets: parsing, errors with their position, and no cost of depth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard import zoo
from regard.data import Dataset, read_rows
from regard.data.batch import ADDED, UNLABELED, UNSEEN
from regard.data.brackets import BracketError, read_brackets
from regard.data.columns import BracketsColumn, TextColumn, column_from_state
from regard.errors import RegardError
from regard.model.building import fitted_columns

SST = "(3 (2 It) (4 (4 works) (2 well)))"


def test_a_labelled_tree() -> None:
    tree = read_brackets(SST)
    assert tree.leaves == ["It", "works", "well"]
    assert list(tree.words) == ["It", "works", "well", None, None]
    assert list(tree.labels) == ["2", "4", "2", "4", "3"]
    assert tree.children == [[], [], [], [1, 2], [0, 3]]
    assert tree.spans == [(0, 1), (1, 2), (2, 3), (1, 3), (0, 3)]
    assert tree.written() == SST
    assert tree.linear() == "(3 XX (4 XX XX )4 )3"
    assert tree.subtree(3).written() == "(4 (4 works) (2 well))"


@pytest.mark.parametrize(
    ("text", "labels", "words", "children"),
    [
        ("((a b) c)", False, ["a", "b", "c"], [[], [], [0, 1], [], [2, 3]]),
        ("(a (b c d))", False, ["a", "b", "c", "d"], [[], [], [], [], [1, 2, 3], [0, 4]]),
        ("a", False, ["a"], [[]]),
        ("((a))", False, ["a"], [[]]),
        ("(S (NP the dog) (VP barks))", True, ["the", "dog", "barks"], [[], [], [0, 1], [], [2, 3]]),
        ("( (S (NP (N dogs)) (V bark)))", True, ["dogs", "bark"], [[], [0], [], [1, 2]]),
        ("(X -LRB- a\\/b -RRB-)", True, ["(", "a/b", ")"], [[], [], [], [0, 1, 2]]),
    ],
)
def test_other_trees(text: str, labels: bool, words: list[str], children: list[list[int]]) -> None:
    tree = read_brackets(text, labels=labels)
    assert tree.leaves == words
    assert tree.children == children
    assert read_brackets(tree.written(), labels=any(tree.labels)).children == children


@pytest.mark.parametrize(
    ("text", "labels", "problem"),
    [
        ("(3 (2 It) (4 works)", True, "is not closed (character 1)"),
        ("(3 (2 It)) (4 works)", True, "more than one tree (character 12)"),
        ("(3 It))", True, "has a closing bracket without an opening one (character 7)"),
        ("(3 (2 ) It)", True, "no word in them (character 4)"),
        ("(() a)", False, "no word in them (character 2)"),
        ("It (3 works)", True, "'It' outside of all brackets (character 1)"),
        ("((a b) c)", True, "a node without a label (character 1)"),
        ("  ", True, "is not a tree"),
    ],
)
def test_what_is_no_tree_is_refused_with_its_place(text: str, labels: bool, problem: str) -> None:
    with pytest.raises(BracketError) as refused:
        read_brackets(text, labels=labels)
    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(S (NP XX XX )NP XX )S", None),
        ("(S (NP XX XX) XX)", None),
        ("(S XX )S", None),
        ("(S (NP XX", "has a bracket that is not closed (character 4)"),
        ("(S (NP XX )NP", "has a bracket that is not closed (character 1)"),
        ("(S XX )S )S", "has text after the end of its tree (character 10)"),
        ("(S (NP XX )VP )S", "closes (NP with )VP (character 11)"),
        (")S", "has a closing bracket without an opening one (character 1)"),
        ("XX (S XX )S", "has 'XX' outside of all brackets (character 1)"),
        ("(S (NP )NP XX )S", "has brackets with no word in them (character 4)"),
    ],
)
def test_a_text_that_is_to_be_a_tree(text: str, problem: str | None, tmp_path: Path) -> None:
    column = TextColumn("parse", brackets=True)
    assert column.check_value(text) == problem
    assert TextColumn("parse").check_value(text) is None
    (tmp_path / "rows.tsv").write_text(f"words\tparse\na b c\t(S XX )S\nd e\t{text}\n", encoding="utf-8")
    spec = zoo.find("parse-as-text", ["data.world=null", f"data.train={tmp_path / 'rows.tsv'}"])
    rows = read_rows(tmp_path / "rows.tsv", fields=("words", "parse"))
    if problem is None:
        assert len(Dataset.build(rows, fitted_columns(spec, rows).values())) == 2
        return
    with pytest.raises(RegardError) as refused:
        Dataset.build(rows, fitted_columns(spec, rows).values())
    assert refused.value.where.endswith("rows.tsv:3") and problem in refused.value.what


def test_ten_thousand_brackets_deep() -> None:
    depth = 10_000
    text = "(S " * depth + "(A x)" + " (B y))" * depth
    tree = read_brackets(text)
    assert len(tree) == 2 * depth + 1 and tree.written() == text
    assert tree.linear().count("(S") == depth
    column = BracketsColumn("tree", binarize="left")
    column.learn([text])
    assert column.encode(text).reshape(-1, 4)[-1, 3] == depth  # the height of the root
    limited = BracketsColumn("tree", max_length=500)
    assert limited.check_value(text) == "has 10001 words, more than max_length 500"


def test_a_plain_file_and_a_column_of_a_table(tmp_path: Path) -> None:
    plain, table = tmp_path / "trees.txt", tmp_path / "rows.tsv"
    plain.write_text(f"{SST}\n(3 (2 It)\n", encoding="utf-8")
    table.write_text(f"id\ttree\n7\t{SST}\n", encoding="utf-8")
    column = BracketsColumn("tree")
    column.learn([SST])
    built = Dataset.build(read_rows(plain, fields=["tree"]), [column], on_bad="skip")
    assert len(built) == 1
    (bad,) = built.rejections.kept
    assert bad.reason == "tree has a bracket that is not closed (character 1)"
    assert (bad.file, bad.line) == (str(plain), 2)
    assert len(Dataset.build(read_rows(table, fields=["tree"]), [column])) == 1


def numbers(column: BracketsColumn, text: str) -> list[list[int]]:
    return column.encode(text).reshape(-1, 4).tolist()


def test_encodings() -> None:
    column = BracketsColumn("tree")
    column.learn([SST, "(0 a b)"])
    it, works, well = (column.vocabulary.ids([word])[0] for word in ("It", "works", "well"))
    labels = {label: number for number, label in enumerate(["0", "2", "3", "4"])}
    assert numbers(column, SST) == [
        [it, 4, labels["2"], 0],
        [works, 3, labels["4"], 0],
        [well, 3, labels["2"], 0],
        [0, 4, labels["4"], 1],
        [0, -1, labels["3"], 2],
    ]
    assert [row[2] for row in numbers(column, "(9 It (2 well))")] == [UNLABELED, labels["2"], UNSEEN]
    again = column_from_state(column.state())
    assert np.array_equal(again.encode(SST), column.encode(SST))
    assert column.decode(column.encode(SST).tolist()) == SST
    assert column.tokens(SST) == ["It", "works", "well", "works well", "It works well"]


@pytest.mark.parametrize(("side", "added"), [("left", "(((a b) c) d)"), ("right", "(a (b (c d)))")])
def test_binarized(side: str, added: str) -> None:
    column = BracketsColumn("tree", labels=False, binarize=side)  # type: ignore[arg-type]
    text = "((a b c d) (a b) (c (d)) a b)"
    column.learn([text])
    plain = BracketsColumn("tree", labels=False)
    plain.learn([text])
    wanted = numbers(plain, added)
    found = numbers(column, "(a b c d)")
    assert [row[:2] + row[3:] for row in found] == [row[:2] + row[3:] for row in wanted]
    assert sum(row[2] == ADDED for row in found) == 2
    assert column.decode(column.encode(text).tolist()) == "((a b c d) (a b) (c d) a b)"
    parents = [row[1] for row in numbers(column, text)]
    assert max(parents.count(place) for place in range(len(parents))) == 2
    assert all(parent > place for place, parent in enumerate(parents[:-1]))  # children come first
