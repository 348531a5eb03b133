"""The dynamic programs against enumeration, regard.structures and known counts."""

from __future__ import annotations

import itertools
from math import comb
from typing import Any

import numpy as np
import pytest
import torch

from regard.course.lab import run
from regard.course.lab.forward_backward import tables
from regard.structures import BinaryTree, LinearChain
from regard.trace import Array

SENTENCE = "the dog can saw"


def test_forward_backward_is_enumeration() -> None:
    found = run(
        "forward-backward",
        sentence=SENTENCE,
        nodes={"dog": {"V": 0.7}, "3": {"D": -1.0}},
        edges={"N": {"N": 0.4}},
    ).numbers
    nodes, edges = found["nodes"], found["edges"]
    assert nodes[1].tolist() == [0.0, 1.5, 0.7] and nodes[2, 0] == -1.0 and edges[1, 1] == 0.4
    paths = list(itertools.product(range(3), repeat=4))
    scores = np.array(
        [
            sum(nodes[t, z] for t, z in enumerate(path))
            + sum(edges[a, b] for a, b in itertools.pairwise(path))
            for path in paths
        ]
    )
    weights = np.exp(scores)
    assert found["log_partition"] == pytest.approx(np.log(weights.sum()))
    for t in range(4):
        for state in range(3):
            share = (
                sum(weight for path, weight in zip(paths, weights, strict=True) if path[t] == state)
                / weights.sum()
            )
            assert found["marginals"][t, state] == pytest.approx(share)
    for t, i, j in itertools.product(range(3), range(3), range(3)):
        share = sum(one for path, one in zip(paths, weights, strict=True) if path[t : t + 2] == (i, j))
        assert found["pairs"][t, i, j] == pytest.approx(share / weights.sum())
    assert found["column_sums"] == pytest.approx(np.ones(4))
    assert found["best"] == [found["states"][z] for z in paths[int(scores.argmax())]]


def test_products_are_sums_over_beginnings_and_ends() -> None:
    """exp α_t(j): all beginnings that end in j at t; exp β_t(i): all ends that follow i."""
    found = run("forward-backward", space="product").numbers
    nodes, edges = found["nodes"], found["edges"]
    T, C = nodes.shape

    def weight(path: tuple[int, ...], first: int, *, begin: bool) -> float:
        total = sum(nodes[first + k, z] for k, z in enumerate(path) if k or begin)
        return float(np.exp(total + sum(edges[a, b] for a, b in itertools.pairwise(path))))

    for t in range(T):
        for j in range(C):
            starts = [weight((*path, j), 0, begin=True) for path in itertools.product(range(C), repeat=t)]
            ends = [
                weight((j, *path), t, begin=False) for path in itertools.product(range(C), repeat=T - 1 - t)
            ]
            assert found["forward"][t, j] == pytest.approx(sum(starts))
            assert found["backward"][t, j] == pytest.approx(sum(ends))


@pytest.mark.parametrize(("of", "t", "j"), [("3-V", 2, 2), ("1-D", 0, 0), ("5-V", 4, 2)])
def test_the_gradient_of_a_marginal_is_that_of_small_changes(of: str, t: int, j: int) -> None:
    found = run("forward-backward", of=of).numbers
    nodes, edges, gradient, step = found["nodes"], found["edges"], found["gradient"], 1e-5

    def p(nodes: Array, edges: Array) -> float:
        alpha, beta, log_z = tables(nodes, edges)
        return float(np.exp(alpha[t, j] + beta[t, j] - log_z))

    for where, values in (("nodes", nodes), ("edges", edges)):
        for place in np.ndindex(values.shape):
            change = np.zeros_like(values)
            change[place] = step
            above, below = (
                p(nodes + sign * change, edges) if where == "nodes" else p(nodes, edges + sign * change)
                for sign in (1, -1)
            )
            assert gradient[where][place] == pytest.approx((above - below) / (2 * step), abs=1e-9)


def test_forward_backward_is_the_structure() -> None:
    found = run("forward-backward").numbers
    chain = LinearChain(
        torch.from_numpy(found["edges"]), torch.from_numpy(found["nodes"]), backend="reference"
    )
    assert found["log_partition"] == pytest.approx(float(chain.log_partition))
    assert found["marginals"] == pytest.approx(chain.node_marginals.numpy())
    # At every position, α β sums to Z.
    for t in range(5):
        assert np.log(np.exp(found["alpha"][t] + found["beta"][t]).sum()) == pytest.approx(
            found["log_partition"]
        )


def test_a_word_of_ones_own_has_no_potentials() -> None:
    found = run("forward-backward", sentence="colorless ideas sleep", states=["A", "B"]).numbers
    assert not found["nodes"].any() and not found["edges"].any()
    assert found["log_partition"] == pytest.approx(3 * np.log(2))
    assert found["marginals"] == pytest.approx(np.full((3, 2), 0.5))


def trees(first: int, last: int) -> list[list[tuple[int, int]]]:
    """Every binary tree over the words from first to last, as a list of spans."""
    if first == last:
        return [[(first, last)]]
    return [
        [(first, last), *left, *right]
        for middle in range(first, last)
        for left in trees(first, middle)
        for right in trees(middle + 1, last)
    ]


def test_inside_outside_is_enumeration() -> None:
    found = run(
        "inside-outside", sentence="a b c d e", spans={"1-2": 1.0, "3-5": -0.5, "2-4": 2.0, "3-3": 0.3}
    ).numbers
    spans = found["spans"]
    assert spans[0, 1] == 1.0 and spans[2, 4] == -0.5 and spans[2, 2] == 0.3
    every = trees(0, 4)
    assert len(every) == found["trees"] == comb(8, 4) // 5
    scores = np.array([sum(spans[span] for span in tree) for tree in every])
    weights = np.exp(scores)
    assert found["log_partition"] == pytest.approx(np.log(weights.sum()))
    for i in range(5):
        for j in range(i, 5):
            share = sum(w for tree, w in zip(every, weights, strict=True) if (i, j) in tree) / weights.sum()
            assert found["marginals"][i, j] == pytest.approx(share)
    assert found["best_score"] == pytest.approx(scores.max())


def test_inside_outside_is_the_structure() -> None:
    found = run("inside-outside").numbers
    tree = BinaryTree(torch.from_numpy(found["spans"]), backend="reference")
    assert found["log_partition"] == pytest.approx(float(tree.log_partition))
    assert found["marginals"] == pytest.approx(tree.marginals.numpy(), abs=1e-12)
    assert found["best"] == "((the (old man)) (saw (the dog)))"


@pytest.mark.parametrize("words", [1, 2, 7, 12])
def test_without_potentials_z_counts_trees(words: int) -> None:
    found = run("inside-outside", sentence=" ".join("abcdefghijkl"[:words])).numbers
    assert np.exp(found["log_partition"]) == pytest.approx(comb(2 * words - 2, words - 1) / words)


def test_a_positive_and_a_negative_gradient_are_sums_of_logarithms_with_signs() -> None:
    found: Any = run("forward-backward", of="3-V")
    gradient = found.numbers["gradient"]["nodes"]
    printed = [line.replace("−", "-") for line in found.worked if "sign x" in line]
    assert len(printed) == 2 and "p(2 dog = N, 3 saw = V)" in " ".join(found.worked)
    for line, x, sign in zip(printed, (gradient[2, 2], gradient[1].min()), "+-", strict=True):
        size, told = line.rpartition(" = ")[2].strip("()").split(", ")
        assert told == sign and float(size) == pytest.approx(np.log(abs(x)), abs=2e-3)


@pytest.mark.parametrize(("name", "table"), [("forward-backward", "α"), ("inside-outside", "inside")])
def test_a_step_shows_what_is_filled(name: str, table: str) -> None:
    def numbers(step: int | None) -> int:
        found: Any = run(name, sentence="a b c", step=step)
        drawn = found.figure.svg()
        return int(drawn.count("data-value") - drawn.count('data-value="nan"'))

    counts = [numbers(step) for step in range(8)]
    assert counts[0] == 0 and counts == sorted(counts) and counts[-1] == numbers(None)
    assert counts[1] == 3  # three states of the first word, or three single words
    assert table in run(name, sentence="a b c", step=1).worked[0]
