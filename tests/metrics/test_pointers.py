"""Pointer metrics, against figures that can be checked by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from regard.data.columns import PointersColumn, PointsColumn
from regard.metrics import OutputInfo, metric, output_metric
from regard.metrics.area_covered import is_simple

SQUARE = "0 0; 2 0; 2 2; 0 2; 1 1"


class Rows:
    """Answers and references for one set of points, as in an inference."""

    def __init__(self, form: str, answers: list[str], truth: list[str]) -> None:
        column: Any = PointersColumn("path", of="points", form=form)  # type: ignore[arg-type]
        columns = {"points": PointsColumn("points"), "path": column}
        self.output = OutputInfo("path", columns, ["points"], ["path"], {}, ["points"])
        self.predictions = [SimpleNamespace(value=column.reference(one)) for one in answers]
        self.references = [[column.reference(one)] for one in truth]

    def raw(self, row: int) -> dict[str, str]:
        return {"points": SQUARE, "path": ""}

    def __len__(self) -> int:
        return len(self.predictions)


def measured(name: str, *given: Any) -> float:
    found = metric(name).measure(Rows(*given))  # type: ignore[arg-type]
    assert found is not None
    return found.value


def test_a_figure_is_the_same_however_it_is_written() -> None:
    assert measured("same_figure", "polygon", ["2 3 4 1", "4 3 2 1"], ["1 2 3 4"] * 2) == 0.5
    assert measured(
        "same_figure", "tour", ["2 3 4 5 1", "5 4 3 2 1", "1 3 2 4 5"], ["1 2 3 4 5"] * 3
    ) == pytest.approx(2 / 3)
    assert measured("same_figure", "triangles", ["2 3 5; 1 2 5", "1 2 5"], ["1 2 5; 2 3 5"] * 2) == 0.5
    assert measured("same_figure", "sequence", ["2 1", "1 2"], ["1 2"] * 2) == 0.5


def test_the_area_of_half_a_square_is_half_of_it() -> None:
    assert measured("area_covered", "polygon", ["1 2 3", "1 2 3 4"], ["1 2 3 4"] * 2) == pytest.approx(0.75)
    assert measured("area_covered", "sequence", ["1 3 2 4", "1 2"], ["1 2 3 4"] * 2) == 0
    assert not is_simple(np.array([[0, 0], [1, 1], [1, 0], [0, 1]]))


def test_the_tour_around_a_square_is_as_long_as_its_sides() -> None:
    rows = Rows("tour", ["1 2 3 4 5"], ["1 3 2 4 5"])
    around = 3 * 2 + 2 * np.sqrt(2)
    by_chance = metric("tour_length").baseline(rows)  # type: ignore[arg-type]
    assert by_chance.value == pytest.approx(around)  # type: ignore[union-attr]
    across = np.sqrt(8) + 2 + np.sqrt(8) + 2 * np.sqrt(2)
    assert measured("tour_length", "tour", ["1 3 2 4 5"], ["1 2 3 4 5"]) == pytest.approx(across)
    assert not metric("tour_length").higher_is_better


def test_triangles_are_counted_in_any_order() -> None:
    coverage = output_metric("triangle_coverage")
    assert coverage([[2, 3, 5, 1, 2, 5]], [[[1, 2, 5, 2, 3, 5, 3, 4, 5]]]).value == pytest.approx(2 / 3)
    assert coverage([[]], [[[1, 2, 5]]]).value == 0


def test_metrics_of_points_are_refused_elsewhere() -> None:
    rows = Rows("tour", ["1"], ["1"])
    from regard.data.columns import TextColumn

    text = OutputInfo("path", {**rows.output.columns, "points": TextColumn("points")}, [], [], {}, [])
    assert "needs an input of type points" in str(metric("tour_length").refuses(text))
    assert metric("tour_length").refuses(rows.output) is None
