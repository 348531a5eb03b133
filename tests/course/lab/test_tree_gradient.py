"""The gradient through a tree against the chain rule written out, and finite differences of another program."""

from __future__ import annotations

from math import tanh

import pytest

from regard.course.lab import run


def test_a_tree_of_three_leaves_is_the_chain_rule_written_out() -> None:
    u, v, b, x, y, w, t = 0.8, -0.6, 0.1, 1.0, 0.5, -1.0, 0.25
    found = run("tree-gradient", tree=f"(({x} {y}) {w})", target=t, u=u, v=v, b=b).numbers
    p = tanh(u * x + v * y + b)
    root = tanh(u * p + v * w + b)
    at_root = (root - t) * (1 - root**2)
    at_p = at_root * u * (1 - p**2)
    assert found["loss"] == pytest.approx((root - t) ** 2 / 2)
    assert found["values"].tolist() == pytest.approx([x, y, p, w, root])
    assert found["gradients"].tolist() == pytest.approx(
        [at_p * u, at_p * v, at_root * u, at_root * v, root - t]
    )
    assert found["shared"] == pytest.approx(
        {"u": at_root * p + at_p * x, "v": at_root * w + at_p * y, "b": at_root + at_p}
    )
    assert list(found["parents"]) == [2, 2, 4, 4, -1]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "identity"])
def test_all_ways_agree(activation: str) -> None:
    found = run("tree-gradient", activation=activation, size=5, seed=3).numbers
    for name, value in found["shared"].items():
        assert value == pytest.approx(found["numeric"][name], abs=1e-8)
    assert found["vectors_difference"] < 1e-13


def test_without_squashing_the_gradient_of_a_leaf_is_the_product_of_its_path() -> None:
    found = run(
        "tree-gradient", tree="((1 2) (3 (4 5)))", activation="identity", u=0.5, v=3.0, b=0.0, target=0
    )
    root = 0.5 * (0.5 * 1 + 3 * 2) + 3 * (0.5 * 3 + 3 * (0.5 * 4 + 3 * 5))
    numbers = found.numbers
    leaves = [numbers["gradients"][place] for place in (0, 1, 3, 4, 5)]
    paths = (0.5 * 0.5, 0.5 * 3, 3 * 0.5, 3 * 3 * 0.5, 3 * 3 * 3)
    assert leaves == pytest.approx([root * path for path in paths])
