"""Several labels in a value: how they are written, numbered and collated."""

from __future__ import annotations

import numpy as np
import pytest

from regard.data.columns import LabelWordsColumn, MultilabelColumn
from regard.data.columns.column import LISTED
from regard.errors import RegardError


def fitted(**options: object) -> MultilabelColumn:
    column = MultilabelColumn("topics", **options)  # type: ignore[arg-type]
    column.learn(["b|a", "", "c", "a"])
    return column


def test_texts_lists_and_json_name_the_same_classes() -> None:
    column = fitted()
    assert column.classes == ["a", "b", "c"] and column.counts == [2, 1, 1] and column.rows == 4
    for value in ("c|a", " a | c|", '["a", "c"]', f"c{LISTED}a{LISTED}", column.written({"a", "c"}), "a|c|a"):
        assert column.check(value) is None and column.encode(value).tolist() == [0, 2]
        assert column.reference(value) == ["a", "c"]
    for empty in ("", " ", LISTED, "[]", column.written([])):
        assert column.check(empty) is None and column.encode(empty).tolist() == []
    assert column.collate([column.encode("c|a"), column.encode("")]).tolist() == [[1, 0, 1], [0, 0, 0]]
    assert column.decode([0, 2]) == "a|c" and fitted(separator=";").decode([0, 2]) == "a;c"
    numbers = MultilabelColumn("codes")
    numbers.learn(["3 7", "7"])  # as readers give the lists [3, 7] and 7 of JSON
    assert numbers.classes == ["3", "7"]


def test_classes_that_training_lacks_are_errors_or_refused() -> None:
    column = fitted()
    assert column.unseen("a|x") == ["x"] and column.reference("x|a") == ["a", "x"]
    assert column.encode("a|x").tolist() == [0]
    remark = column.remark([("a|x", np.array([0])), ("b", np.array([1]))])
    assert remark is not None and remark.startswith("1 of 2 rows has a class that training never saw (x)")
    strict = fitted(classes=["a", "b", "c"])
    assert "the class 'x', not among the 3 known" in str(strict.check("a|x"))
    assert "expected classes such as a|b" in str(column.check('["a", {"b": 1}]'))
    assert column.check(None) == "is missing"
    with pytest.raises(RegardError, match="no row of the training data has a class"):
        MultilabelColumn("topics").learn(["", ""])


def test_the_words_of_labels_are_rows_of_a_table() -> None:
    column = LabelWordsColumn("words", of=("text", "topics"))
    column.learn_beside([("", "b|long name"), ("", "a")])
    table = column.collate([column.encode("long_name:2 b:0 b:1 x:0"), column.encode("")])
    assert table.tolist() == [[[0, 0, 0], [0.5, 0.5, 0], [0, 0, 1]], [[0, 0, 0]] * 3]
    assert column.decode(column.encode("long_name:2 b:0")) == "long_name:2 b:0"
    assert "expected labels and positions" in str(column.check("b"))
    assert "names position 3" in str(column.check_beside(column.encode("b:3"), {"text": np.arange(3)}))
