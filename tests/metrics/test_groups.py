"""A metric by fields of the rows, and by position in the answer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from regard.errors import RegardError
from regard.evaluation import Evaluation
from regard.inspect import groups_figure, svg
from regard.metrics import Score, by_group, by_place, output_metric

WRITTEN = ["12.", "13.", "7.", "108.", "19."]
TRUE = [["12."], ["12."], ["7."], ["118."], ["9."]]
ROWS = [("2", "1"), ("2", "1"), ("1", "1"), ("10", "2"), ("1", "2")]


def evaluation() -> Evaluation:
    rows = [{"program": "p", "length": length, "nesting": nesting} for length, nesting in ROWS]
    made = Evaluation(inputs=rows, values={"result": (WRITTEN, TRUE)}, predictions={"result": WRITTEN})
    made.scores["exact"] = Score("exact", 0.4, 5)
    made.pieces["result"] = list
    return made


def test_by_one_column_in_the_order_of_numbers() -> None:
    found = evaluation().by(["length"])
    assert [(cell.group, cell.n, cell.value) for cell in found.cells] == [
        (("1",), 2, 0.5),
        (("2",), 2, 0.5),
        (("10",), 1, 0.0),
    ]
    assert found.cells[0].interval == (0.0, 1.0) and all(map(math.isnan, found.cells[2].interval))


def test_by_two_columns_there_are_rows_and_columns() -> None:
    found = evaluation().by(["length", "nesting"])
    assert found.labels(0) == ["1", "2", "10"] and found.labels(1) == ["1", "2"]
    nan = math.nan
    np.testing.assert_equal(found.values(), [[1.0, 0.0], [0.5, nan], [nan, 0.0]])


def test_places_are_counted_from_the_end() -> None:
    """Wrong: the last digit in 13. for 12., the middle one in 108. for 118.; in 19. for 9. the 9 is right."""
    found = evaluation().by(["place"])
    assert {cell.group[0]: (cell.n, cell.value) for cell in found.cells} == {
        "−4": (1, 1.0),
        "−3": (3, 2 / 3),
        "−2": (5, 0.8),
        "−1": (5, 1.0),
    }
    both = evaluation().by(["nesting", "place"])
    assert (
        both.names == ("nesting", "place")
        and {cell.group: cell.value for cell in both.cells}["2", "−3"] == 0.0
    )
    assert evaluation().by(["place", "nesting"]).names == ("place", "nesting")


def test_a_short_answer_lacks_its_first_places() -> None:
    found = by_place([["3", "."]], [["1", "3", "."]], [()], ())
    assert {cell.group[0]: cell.value for cell in found.cells} == {"−3": 0.0, "−2": 1.0, "−1": 1.0}


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["lenght"], r"the rows have no column 'lenght'\..*length\?.*type: group"),
        (["length", "nesting", "place"], "expected one column or two"),
        (["length", "length"], "expected one column or two"),
        ([], "received nothing"),
    ],
)
def test_what_cannot_be_split_by_is_refused(names: list[str], words: str) -> None:
    with pytest.raises(RegardError, match=words):
        evaluation().by(names)


def test_a_column_of_many_values_is_refused() -> None:
    exact = output_metric("exact")
    with pytest.raises(RegardError, match="program has 100 different values, more than 60"):
        by_group(exact, ["a"] * 100, ["a"] * 100, [(str(row),) for row in range(100)], ["program"])
    with pytest.raises(RegardError, match="expected a group for each of 2"):
        by_group(exact, ["a", "b"], ["a", "b"], [("1",)], ["level"])


@pytest.mark.parametrize("names", [["length"], ["length", "nesting"], ["length", "place"]])
def test_figures_name_what_they_show(names: list[str]) -> None:
    group = evaluation().by(names)
    drawn = svg(groups_figure({"one": group, "other": group}))
    assert f"by {' and '.join(names)}" in drawn and "one" in drawn and "other" in drawn
