"""What a drawing shows, read off its marks."""

from __future__ import annotations

import pytest

from regard import zoo
from regard.course.lab import run
from regard.course.lectures.marks import (
    drawn_arrows,
    film_arrows,
    network_arrows,
    shortest_ways,
    wired_boxes,
)
from regard.describe import draw
from regard.inspect.scene import Circle, Group, Mark, Scene, Shape, Text

HEAD = Shape((("M", (40.0, 0.0)), ("L", (34.0, 3.0)), ("L", (34.0, -3.0)), ("Z", ())), stroke=None)


def of(line: Shape, *more: Mark) -> list[str]:
    nodes = [Circle(0, 0, 5), Circle(50, 0, 5)]
    texts = [Text(0, 4.5, "h"), Text(50, 4.5, "y"), Text(25, -4, "W")]
    return network_arrows(Scene(60, 20, (Group((*nodes, line, *more, *texts), kind="network"),)))


def test_the_head_of_an_arrow_decides_where_it_ends() -> None:
    forth, back = (
        Shape((("M", (begin, 0.0)), ("L", (end, 0.0)))) for begin, end in ((10.0, 38.0), (38.0, 10.0))
    )
    assert of(forth, HEAD) == of(back, HEAD) == ["h → y W"]
    assert of(forth) == ["h → y W"] and of(back) == ["y → h W"]


def test_the_loop_and_the_steps_of_a_network_in_time() -> None:
    found = run("unrolled", inputs=[1.0, 0.5])
    assert network_arrows(run("unrolled", inputs=[1.0], frame=1).figure) == ["h → h W", "h → ŷ V", "x → h U"]
    last = ["h_1 → h_2 W", "h_1 → ŷ_1 V", "h_2 → ŷ_2 V", "x_1 → h_1 U", "x_2 → h_2 U"]
    assert network_arrows(found.figure) == last
    assert film_arrows(found.figure)[-1] == [one[:-2] for one in last]


def test_the_shortest_way_over_layers() -> None:
    figure = run("transition", layers=5, steps=2, size=2).figure
    assert shortest_ways(figure, "h_1", "h_3") == [2, 10, 2]
    with pytest.raises(ValueError, match="no way"):
        shortest_ways(figure, "h_3", "h_1")


def test_the_wires_of_a_network() -> None:
    figure = draw(zoo.find("parity"), "parity")
    assert "h_j ⇢ h_j" in wired_boxes(figure)
    assert {"h_1 ⇢ h_2", "h_2 ⇢ ⋯", "⋯ ⇢ h_S"} < set(wired_boxes(figure, "unrolled"))


def test_the_weights_beside_the_arrows_of_several_inputs() -> None:
    found = run("unrolled", inputs=[[2.0, -2.0], [0.0, 3.5]], u=[1.0, -1.0], v=5.0, labels="numbers").blocks[
        0
    ]
    first = [("x1", "h1", "1"), ("x1", "h1", "−1"), ("h1", "ŷ1", "5")]
    assert drawn_arrows(found)[:3] == first
    assert ("h1", "h2", "0.9") in drawn_arrows(found)
