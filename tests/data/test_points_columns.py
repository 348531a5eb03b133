"""Points and pointers: accepted and refused values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from regard.data import Dataset, read_rows
from regard.data.columns import PointersColumn, PointsColumn
from regard.errors import RegardError
from regard.model.building import fitted_columns
from regard.spec import Spec
from regard.worlds.points import PointsWorld

SQUARE = "0 0; 1 0; 0.5 0; 1 1; 0 1"
"""The corners of a square, and a point in the middle of a side."""
STAR = "1 0; 0.309 0.951; -0.809 0.588; -0.809 -0.588; 0.309 -0.951"
"""The corners of a regular pentagon."""


def spec(form: str = "sequence", **more: object) -> Spec:
    return Spec.parse(
        {
            "inputs": {"points": {"type": "points", **more}},
            "outputs": {"pointers": {"type": "pointers", "form": form}},
        }
    )


def dataset(file: Path, form: str = "sequence", **more: object) -> Dataset:
    rows = read_rows(file, fields=("points", "pointers"))
    return Dataset.build(rows, fitted_columns(spec(form, **more), rows).values())


def test_tables_and_json_lines_say_the_same(tmp_path: Path) -> None:
    table, lines = tmp_path / "a.tsv", tmp_path / "a.jsonl"
    table.write_text("points\tpointers\n0.5 1; -2 3e-1; 0 0\t3 1 2\n1 1; 2 2\t1\n", encoding="utf-8")
    lines.write_text(
        '{"points": [[0.5, 1], [-2, 3e-1], [0, 0]], "pointers": [3, 1, 2]}\n'
        '{"points": [[1, 1], [2, 2]], "pointers": [1]}\n',
        encoding="utf-8",
    )
    for file in (table, lines):
        batch = dataset(file).batch(range(2))
        assert batch["points"].values.tolist() == [[[0.5, 1], [-2, 0.3], [0, 0]], [[1, 1], [2, 2], [0, 0]]]
        assert batch["points"].lengths.tolist() == [3, 2]
        assert batch["pointers"].ids.tolist() == [[3, 1, 2], [1, 0, 0]]


@pytest.mark.parametrize(
    ("form", "points", "pointers", "reason"),
    [
        ("sequence", "0 0; 1", "1", "points has '1' as point 2, expected 2 coordinates"),
        ("sequence", "0 0; 1 x", "1", "points has 'x' in point 2, expected a number"),
        ("sequence", "0 0; ; 1 1", "1", "points has no coordinates in point 2"),
        ("sequence", "0 0; 1 inf", "1", "coordinate in point 2 that is not finite"),
        (
            "sequence",
            "0 0; 1 1e300",
            "1",
            "points has '1e300' in point 2, expected a number from -1e15 to 1e15",
        ),
        ("polygon", "1e300 0; 0 1e300; -1e300 0", "1 2 3", "points has '1e300' in point 1"),
        ("triangles", "0 0; 0 1; -1e300 0", "1 2 3", "points has '-1e300' in point 3"),
        ("sequence", "0 0; 1 1; 0 0", "1", "same point twice, as points 1 and 3"),
        ("polygon", "0.1 0.1; 0.1 0.1; 0.5 0.9", "1 2 3", "same point twice, as points 1 and 2"),
        ("triangles", "0.1 0.1; 0.5 0.9; 0.5 0.9", "1 2 3", "same point twice, as points 2 and 3"),
        ("sequence", "0 0; 1 1", "1 0", "pointers has '0', expected positions from 1"),
        ("sequence", "0 0; 1 1", "1 3", "pointers has position 3, but points has 2"),
        ("tour", "0 0; 1 1; 2 1", "1 2", "has 2 positions, but a tour of points has all 3"),
        ("tour", "0 0; 1 1; 2 1", "1 2 2", "has position 2 2 times"),
        ("polygon", "0 0; 1 1; 2 1", "1 2", "a polygon has at least 3"),
        ("polygon", "0 0; 1 1", "1 2 3", "points has fewer than 3 points"),
        ("polygon", "0 0; 1 1; 2 2", "1 2 3", "points has 3 points that lie on one line"),
        ("polygon", "0 0 0; 1 1 0; 2 1 5", "1 2 3", "points has points of 3 coordinates"),
        ("triangles", "0 0; 1 1; 2 1", "1 2", "expected three for each triangle"),
        ("triangles", "0 0; 1 1; 2 1", "2 1 3", "has the triangle 2 1 3, expected rising positions"),
        ("triangles", "0 0; 1 1; 2 1", "1 2 3; 1 2 3", "has the triangle 1 2 3 2 times"),
        ("polygon", SQUARE, "5 4 2 1", "turns right at position 5"),
        ("polygon", SQUARE, "1 3 2 4 5", "has position 3 on one line with 1 and 2"),
        ("polygon", STAR, "1 3 5 2 4", "goes around more than once"),
        ("triangles", SQUARE, "1 2 3; 1 2 4; 1 4 5", "has the triangle 1 2 3, whose points lie on one line"),
        ("triangles", SQUARE, "1 2 5; 2 4 5", "has no triangle with point 3"),
        ("triangles", "0 0; 1 0; 0 1; 1 1", "1 2 3; 1 2 4", "at the side from 1 to 2"),
        ("triangles", "0 0; 1 0; 0 1; 1 1", "1 2 3", "leave something out: they cover 0.5 of the area"),
        ("triangles", "0 0; 1 0; 0 1; 1 1", "1 2 3; 2 3 4; 1 2 4", "overlap: they cover 1.5 of the area"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_line(
    form: str, points: str, pointers: str, reason: str, tmp_path: Path
) -> None:
    width = len(points.split(";")[0].split())
    good = "; ".join([" ".join(cell[:width]) for cell in (["0", "0", "0"], ["1", "1", "0"], ["2", "1", "5"])])
    file = tmp_path / "rows.tsv"
    order = "1 3 2" if form == "polygon" else "1 2 3"
    file.write_text(f"points\tpointers\n{good}\t{order}\n{points}\t{pointers}\n", encoding="utf-8")
    where = 2 if width == 3 and form == "polygon" else 3
    with pytest.raises(RegardError, match=reason) as refused:
        dataset(file, form)
    assert f"rows.tsv:{where}" in str(refused.value)


def test_figures_of_the_points_world_are_taken() -> None:
    for task, count, form in (("hull", 12, "polygon"), ("delaunay", 8, "triangles")):
        world = PointsWorld(task=task, count=count, train=200)
        rows = world.splits()["train"]
        found = Dataset.build(rows, fitted_columns(spec(form), rows).values())
        assert len(found) == 200


def test_a_point_on_a_side_is_no_corner_and_may_be_one_of_a_triangle(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text(f"points\tpointers\n{SQUARE}\t1 2 4 5\n", encoding="utf-8")
    assert len(dataset(file, "polygon")) == 1
    file.write_text(f"points\tpointers\n{SQUARE}\t1 3 5; 3 4 5; 2 3 4\n", encoding="utf-8")
    assert len(dataset(file, "triangles")) == 1


def test_points_may_repeat_where_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "rows.tsv"
    file.write_text("points\tpointers\n0 0; 1 1; 0 0\t1 2\n", encoding="utf-8")
    assert len(dataset(file, repeats=True)) == 1


def test_the_spread_is_one_for_all_coordinates() -> None:
    column = PointsColumn("points")
    column.learn(["0 0; 4 0", "0 2; 4 2"])
    assert column.mean.tolist() == [2, 1]
    assert column.spread == pytest.approx(np.sqrt((4 + 1) / 2))
    again = PointsColumn("points")
    again.relearn(column.learned())
    assert again.spread == column.spread


def test_values_of_a_program_are_written_as_rows_hold_them() -> None:
    points, pointers = PointsColumn("points"), PointersColumn("corners", of="points", form="triangles")
    assert points.written(np.array([[0.5, 1.0], [2.0, 3.0]])) == "0.5 1.0; 2.0 3.0"
    assert points.written([[0.5, 1], [2, 3]]) == "0.5 1.0; 2.0 3.0"
    assert pointers.written([[1, 2, 4], [2, 3, 4]]) == "1 2 4; 2 3 4"
    assert pointers.written([1, 2, 4]) == "1 2 4"
    assert pointers.decode([1, 2, 4, 2, 3, 4]) == "1 2 4; 2 3 4"
    assert pointers.reference("1 2 4; 2 3 4") == [1, 2, 4, 2, 3, 4]
    with pytest.raises(RegardError, match="expected an array"):
        points.written([1.0, 2.0])


def test_what_a_spec_cannot_mean_is_refused_with_its_place() -> None:
    with pytest.raises(RegardError, match="needs an input of type points") as refused:
        Spec.parse(
            {
                "inputs": {"source": {"type": "text"}},
                "outputs": {"order": {"type": "pointers", "form": "polygon"}},
            }
        )
    assert "outputs.order.form" in str(refused.value)
    two = {"a": {"type": "points"}, "b": {"type": "points"}}
    with pytest.raises(RegardError, match="of does not say which of them is pointed at"):
        Spec.parse({"inputs": two, "outputs": {"order": {"type": "pointers"}}})
    with pytest.raises(RegardError, match="no input is named"):
        Spec.parse({"inputs": two, "outputs": {"order": {"type": "pointers", "of": "c"}}})


def test_pointers_into_a_text_are_learned_too() -> None:
    """Any input with positions can be pointed at."""
    import regard

    made = regard.Spec(
        inputs={"source": {"type": "text", "unit": "word"}},
        outputs={"order": {"type": "pointers", "form": "tour"}},
        encoder={"size": 8, "embedding": 8},
        decoder={"type": "pointer", "size": 8},
        training={"steps": 2, "batch_rows": 4},
    )
    rows = [{"source": "c a b", "order": "2 3 1"}, {"source": "b a", "order": "2 1"}] * 4
    model = regard.fit(rows, spec=made, dev=rows, quiet=True)
    assert sorted(model.predict("a c b d").value) == [1, 2, 3, 4]
    assert model.predict("b a").trace is not None
    assert model.predict("a c b d", prefix="3 1").value[:2] == [3, 1]
    with pytest.raises(RegardError, match="source has only 2 positions; received 3"):
        model.predict("b a", prefix="3")
    with pytest.raises(RegardError, match="prefix has 'x', expected positions"):
        model.predict("b a", prefix="x")
