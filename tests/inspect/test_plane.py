"""The figure of points and the outputs over them."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from regard.errors import RegardError
from regard.inspect.drawings.plane import PlaneAttention
from regard.inspect.scene import Circle, Scene, Shape
from regard.trace import Pointed, SeenPoints, Trace

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0], [1.0, 0.5]])


def trace(places: list[int], truth: list[int] | None = None, form: str = "polygon") -> Trace:
    output = [str(place + 1) for place in places] + ["</s>"]
    weights = np.zeros((len(output), 5))
    weights[range(len(places)), places] = 0.9
    return Trace(
        input={"points": list("12345")},
        output=output,
        attention={"points": weights},
        seen={"points": SeenPoints(SQUARE)},
        pointed={"points": Pointed(places, truth, form)},
    )


def drawn(scene: Scene, kind: type) -> list[object]:
    return [mark for mark in scene.walk() if isinstance(mark, kind)]


def test_the_answer_is_drawn_through_its_points_and_another_truth_dashed() -> None:
    scene = trace([0, 1, 2], [0, 1, 2, 3]).plot()
    outlines = [path for path in drawn(scene, Shape) if path.stroke and len(path.steps) > 2]  # type: ignore[attr-defined]
    true, answer = outlines
    assert true.dashes and true.stroke == "truth" and len(true.steps) == 5  # type: ignore[attr-defined]
    assert not answer.dashes and len(answer.steps) == 4  # type: ignore[attr-defined]
    centers = {(round(one.x, 2), round(one.y, 2)) for one in drawn(scene, Circle)}  # type: ignore[attr-defined]
    corners = {tuple(round(number, 2) for number in step[1]) for step in answer.steps if step[1]}  # type: ignore[attr-defined]
    assert corners <= centers
    assert scene.title == "1 2 3"
    assert "polygon through points 1 2 3; in truth, 1 2 3 4" in scene.description
    assert "matrix" in scene.svg() or "1 looks at 1" in scene.description


def test_the_plane_keeps_its_proportions_and_its_upward_direction() -> None:
    looks = PlaneAttention(words=(), weights=np.zeros((0, 5)), points=SQUARE)
    circles = [mark for mark in Scene(9, 9, looks.block().marks).walk() if isinstance(mark, Circle)]
    first, second, third = circles[:3]
    assert second.x - first.x == pytest.approx(2 * (second.y - third.y))
    assert third.y < second.y


def test_what_is_right_is_drawn_once() -> None:
    scene = trace([0, 1, 2, 3], [0, 1, 2, 3], "tour").plot()
    assert not [path for path in drawn(scene, Shape) if path.dashes]  # type: ignore[attr-defined]
    assert "as in truth" in scene.description


def test_triangles_are_drawn_one_by_one() -> None:
    scene = trace([0, 1, 4, 1, 2, 4], form="triangles").plot()
    assert scene.title == "1 2 5; 2 3 5"
    filled = [path for path in drawn(scene, Shape) if path.fill is not None]  # type: ignore[attr-defined]
    assert len(filled) == 2


def test_a_terminal_shows_the_points_where_they_lie() -> None:
    console = Console(width=60, record=True, color_system=None, file=StringIO())
    console.print(trace([0, 1, 2], [0, 1, 2, 3]).plot())
    lines = console.export_text().splitlines()
    above = next(number for number, line in enumerate(lines) if "(3)" in line)
    under = next(number for number, line in enumerate(lines) if "(2)" in line)
    assert above < under and lines[above].index("4") < lines[above].index("(3)")
    assert "polygon: 1 2 3" in lines and "truth: 1 2 3 4" in lines


def test_it_goes_through_json_and_refuses_positions_that_are_not_there() -> None:
    one = trace([0, 1, 2], [0, 1, 2, 3])
    again = Trace.from_dict(one.to_dict())
    assert again.pointed == one.pointed
    assert isinstance(again.seen["points"], SeenPoints)
    assert np.array_equal(again.seen["points"].points, SQUARE)
    with pytest.raises(RegardError, match="points at position 7 of 'points'"):
        trace([0, 1, 2], [7])
