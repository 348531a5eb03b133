"""The unrolled network: its frames, what each draws, and the numbers by hand."""

from __future__ import annotations

from math import exp, tanh

import pytest

from regard.course.lab import run
from regard.errors import RegardError
from regard.inspect.scene import Circle

X = (0.4, -1.2, 0.7)


def test_states_and_outputs_are_the_equations_by_hand() -> None:
    found = run("unrolled", inputs=X, u=0.5, w=-0.7, v=2.0, b=0.1, c=-0.3).numbers
    h1 = tanh(0.1 + 0.5 * 0.4)
    h2 = tanh(0.1 - 0.7 * h1 + 0.5 * -1.2)
    h3 = tanh(0.1 - 0.7 * h2 + 0.5 * 0.7)
    assert found["h"].tolist() == pytest.approx([h1, h2, h3])
    assert found["y"].tolist() == pytest.approx([1 / (1 + exp(0.3 - 2 * h)) for h in (h1, h2, h3)])


def test_a_linear_unit_sums_and_one_of_two_inputs_compares() -> None:
    linear = {"w": 1.0, "activation": "identity", "labels": "numbers"}
    found = run("unrolled", inputs=(2, -0.5, 1, 1), u=1.0, v=1.0, output="identity", **linear)
    assert found.numbers["h"].tolist() == found.numbers["y"].tolist() == [2, 1.5, 2.5, 3.5]
    assert [mark.text for mark in found.figure.walk() if getattr(mark, "italic", False)].count(
        "1"
    ) == 4 + 3 + 4
    pairs = run("unrolled", inputs=((2, -2), (0, 3.5), (1, 2.2)), u=(1, -1), v=5.0, **linear)
    assert pairs.numbers["h"].tolist() == pytest.approx([4, 0.5, -0.7])
    assert pairs.numbers["y"].tolist() == pytest.approx([1 / (1 + exp(-5 * h)) for h in (4, 0.5, -0.7)])
    assert [mark.text for mark in pairs.figure.walk() if getattr(mark, "italic", False)].count("−1") == 3
    assert "h_3 = f(f(h_1, x_2), x_3)" in pairs.see and pairs.table[0] == ("", "x¹", "x²", "h", "ŷ")


def test_inputs_have_as_many_numbers_as_u() -> None:
    with pytest.raises(RegardError, match="an input has 2 numbers, u has 1"):
        run("unrolled", inputs=((1, 0), (0, 1)))


def test_each_frame_adds_one_node() -> None:
    found = run("unrolled", inputs=X)
    assert found.numbers["frames"] == [
        "the loop", "the inputs", "h_1 from x_1", "ŷ_1 from h_1", "h_2 from h_1 and x_2", "ŷ_2 from h_2",
        "h_3 from h_2 and x_3", "ŷ_3 from h_3",
    ]  # fmt: skip
    filled = [
        sum(isinstance(mark, Circle) and mark.fill is not None for mark in card.figure.walk())  # type: ignore[union-attr]
        for card in found.steps
    ]
    assert filled == [
        3,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
    ]  # the loop has three nodes, then three inputs and one more each time


def test_a_frame_in_the_middle_hides_what_comes_later() -> None:
    drawn = run("unrolled", inputs=X, frame=4).figure
    written = [mark.text for mark in drawn.walk() if getattr(mark, "italic", False)]
    assert written.count("U") == 1 and written.count("V") == 1 and "W" not in written
    assert [mark.text for mark in run("unrolled", inputs=X).figure.walk() if hasattr(mark, "text")].count(
        "W"
    ) == 2


def test_without_an_input_the_last_state_is_a_function_of_the_first() -> None:
    assert "h_3 = f(f(h_1)), and ŷ_3" in run("unrolled", u=0, inputs=[0, 0, 0]).see
    assert "h_3 = f(f(h_1, x_2), x_3), and ŷ_3" in run("unrolled", inputs=[0, 0, 0]).see
    assert "h_1 = f(h_0), and" in run("unrolled", u=0, inputs=[0]).see
