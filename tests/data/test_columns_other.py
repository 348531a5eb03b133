"""Label, tags and alignment columns."""

from __future__ import annotations

import json

import pytest
import torch

from regard.data import AlignmentColumn, LabelColumn, TagsColumn, TextColumn, column_from_state
from regard.errors import RegardError


def test_labels_are_sorted_counted_and_come_back() -> None:
    column = LabelColumn("answer")
    column.learn(["yes", "no", " yes ", "maybe"])
    assert column.classes == ["maybe", "no", "yes"]
    assert column.counts == [1, 1, 2]
    encoded = column.encode(" yes")
    assert encoded.shape == () and int(encoded) == 2
    assert column.decode([2]) == column.decode(2) == "yes"
    batch = column.collate([column.encode(value) for value in ("no", "yes")])
    assert batch.dtype == torch.int64 and batch.tolist() == [1, 2]


def test_given_classes_keep_their_order() -> None:
    column = LabelColumn("answer", classes=["yes", "no"])
    column.learn(["no", "no"])
    assert (column.classes, column.counts) == (["yes", "no"], [0, 2])
    with pytest.raises(RegardError, match="not all different"):
        LabelColumn("answer", classes=["a", "a"])


def test_an_unknown_label_names_the_nearest() -> None:
    column = LabelColumn("answer", classes=["entailment", "neutral"])
    reason = column.check("entailmnt")
    assert reason is not None
    assert "has the class 'entailmnt', not among the 2 known (entailment, neutral)" in reason
    assert "did you mean 'entailment'" in reason
    with pytest.raises(RegardError, match="answer: this is the class 'x'"):
        column.encode("x")


def test_tags_must_be_as_many_as_the_tokens() -> None:
    words, tags = TextColumn("words"), TagsColumn("tags", of="words")
    words.learn(["the cat sat"])
    tags.learn(["DET NOUN VERB"])
    beside = {"words": words.encode("the cat sat")}
    assert tags.check_beside(tags.encode("DET NOUN VERB"), beside) is None
    assert tags.check_beside(tags.encode("DET NOUN"), beside) == "has 2 tags for 3 tokens of words"
    assert tags.decode(tags.encode("VERB DET")) == "VERB DET"
    assert tags.check("DET NOUM") is None and tags.encode("DET NOUM").tolist() == [0, -1]
    assert tags.unseen("DET NOUM") == ["NOUM"]
    tokens = tags.collate([tags.encode("DET"), tags.encode("NOUN VERB")])
    assert tokens.ids.tolist() == [[0, 0], [1, 2]]
    assert tokens.lengths.tolist() == [1, 2]


def test_an_alignment_becomes_a_table_whose_rows_sum_to_one() -> None:
    source, target = TextColumn("source"), TextColumn("target")
    source.learn(["I am going home"])
    target.learn(["main ghar ja raha hoon"])
    links = AlignmentColumn("links", of=("source", "target"))
    texts = [
        ("I am going home", "main ghar ja raha hoon", "0-0 3-1 2-2 1-3 2-3 1-4"),
        ("home", "ghar ja", "0-0"),
    ]
    beside = {
        "source": source.collate([source.encode(row[0]) for row in texts]),
        "target": target.collate([target.encode(row[1]) for row in texts]),
    }
    table = links.collate([links.encode(row[2]) for row in texts], beside)
    assert isinstance(table, torch.Tensor)
    expected = torch.zeros(2, 5, 4)
    expected[0, 0, 0] = expected[0, 1, 3] = expected[0, 2, 2] = expected[0, 4, 1] = expected[1, 0, 0] = 1
    expected[0, 3, 1] = expected[0, 3, 2] = 0.5
    torch.testing.assert_close(table, expected)
    assert links.decode(links.encode("0-0 3-1")) == "0-0 3-1"


def test_alignments_that_do_not_fit() -> None:
    links = AlignmentColumn("links", of=("source", "target"))
    assert links.check("") is None
    assert links.check(None) == "is missing"
    assert links.check("0-0 1:2") == "has '1:2', expected source-target positions such as 0-0 1-2"
    assert links.check("0--1") is not None
    lengths = {"source": range(3), "target": range(2)}
    assert links.check_beside(links.encode("2-1 0-0"), lengths) is None  # type: ignore[arg-type]
    reason = links.check_beside(links.encode("0-0 3-1"), lengths)  # type: ignore[arg-type]
    assert reason == "has the link 3-1, but source has 3 tokens (0 to 2)"
    reason = links.check_beside(links.encode("0-2"), lengths)  # type: ignore[arg-type]
    assert reason == "has the link 0-2, but target has 2 tokens (0 to 1)"
    with pytest.raises(RegardError, match="expected two"):
        AlignmentColumn("links", of=("source",))


def test_states_are_json_and_give_the_same_columns() -> None:
    label, tags = LabelColumn("answer", field="a"), TagsColumn("tags", of="words")
    label.learn(["x", "y"])
    tags.learn(["A B"])
    for column in (label, tags, AlignmentColumn("links", of=("s", "t"), field="alignment")):
        state = json.loads(json.dumps(column.state()))
        again = column_from_state(state)
        assert type(again) is type(column)
        assert again.state() == column.state()
        assert (again.name, again.field, again.of) == (column.name, column.field, column.of)
    with pytest.raises(RegardError, match="type of a column is 'smell'"):
        column_from_state({"type": "smell"})
