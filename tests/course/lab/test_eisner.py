"""Eisner's chart against the list of all projective trees, known counts, and covariances of arcs."""

from __future__ import annotations

import itertools
from math import comb
from typing import Any

import numpy as np
import pytest

from regard.course.lab import run

ARCS = {"0-2": 0.7, "2-1": 1.1, "2-3": -0.4, "3-1": 0.9, "4-3": 1.3, "1-4": -0.8, "0-4": 0.2}
SENTENCE = "a b c d"


def projective_trees(n: int, *, single_root: bool) -> list[tuple[int, ...]]:
    """The heads of every projective tree: each word reaches the root, and no two arcs cross."""
    found = []
    for heads in itertools.product(range(n + 1), repeat=n):
        if single_root and heads.count(0) != 1:
            continue
        arcs = [(min(head, word), max(head, word)) for word, head in enumerate(heads, 1)]
        if any(a < c < b < d for (a, b), (c, d) in itertools.product(arcs, arcs)):
            continue
        reached = {0}
        for _ in range(n):
            reached |= {word for word, head in enumerate(heads, 1) if head in reached}
        if len(reached) == n + 1:
            found.append(heads)
    return found


@pytest.mark.parametrize("single_root", [True, False])
def test_the_chart_sums_over_all_projective_trees(single_root: bool) -> None:
    found: dict[str, Any] = dict(
        run("eisner", sentence=SENTENCE, arcs=ARCS, single_root=single_root, of="2-1").numbers
    )
    theta = np.zeros((5, 5))
    for key, value in ARCS.items():
        theta[int(key[0]), int(key[2])] = value
    trees = projective_trees(4, single_root=single_root)
    used = np.zeros((len(trees), 5, 5))
    for place, heads in enumerate(trees):
        used[place, heads, range(1, 5)] = 1
    scores = (used * theta).sum((1, 2))
    p = np.exp(scores) / np.exp(scores).sum()
    marginals = np.einsum("t,thm->hm", p, used)
    covariance = np.einsum("t,thm->hm", p * used[:, 2, 1], used) - marginals[2, 1] * marginals
    assert found["trees"] == len(trees)
    assert found["log_partition"] == pytest.approx(np.log(np.exp(scores).sum()))
    for name in ("marginals", "gradient"):
        assert found[name] == pytest.approx(marginals, abs=1e-12)
    assert found["gradient_of_marginal"] == pytest.approx(covariance, abs=1e-12)
    assert tuple(found["heads"]) == trees[int(scores.argmax())]
    assert found["best_score"] == pytest.approx(scores.max())


def test_inside_of_each_span_is_the_sum_over_the_trees_of_its_words() -> None:
    """C(h, e) sums over the trees of the words from h to e with h above all; I(h, m) over those with the arc h → m."""
    found = run("eisner", sentence=SENTENCE, arcs=ARCS).numbers
    theta, inside = found["arcs"], found["inside"]

    def below(head: int, end: int, needs: tuple[int, int] | None) -> float:
        others = [word for word in range(min(head, end), max(head, end) + 1) if word != head]
        total = 0.0
        for heads in itertools.product([head, *others], repeat=len(others)):
            tree = dict(zip(others, heads, strict=True))
            arcs = [(min(arc), max(arc)) for arc in tree.items()]
            crossing = any(a < c < b < d for (a, b), (c, d) in itertools.product(arcs, arcs))
            reached = {head}
            for _ in others:
                reached |= {word for word, above in tree.items() if above in reached}
            if crossing or len(reached) <= len(others) or (needs and tree[needs[1]] != needs[0]):
                continue
            if needs and any(
                above == needs[1] and (word - needs[1]) * (needs[1] - head) > 0
                for word, above in tree.items()
            ):
                continue
            total += np.exp(sum(theta[above, word] for word, above in tree.items()))
        return float(np.log(total))

    for head, end in itertools.permutations(range(1, 5), 2):
        assert inside["complete"][head, end] == pytest.approx(below(head, end, None))
        assert inside["incomplete"][head, end] == pytest.approx(below(head, end, (head, end)))


def test_counts_of_trees_are_those_of_the_formula() -> None:
    """With all potentials 0, Z counts the trees: C(3n−2, n−1) / n with one root, C(3n, n) / (2n+1) with any."""
    for n in (1, 2, 5, 12):
        sentence = " ".join("w" * n)
        one, many = (run("eisner", sentence=sentence, single_root=single).numbers for single in (True, False))
        assert np.exp(one["log_partition"]) == pytest.approx(comb(3 * n - 2, n - 1) / n)
        assert np.exp(many["log_partition"]) == pytest.approx(comb(3 * n, n) / (2 * n + 1))
        assert one["marginals"].sum() == pytest.approx(n) and one["marginals"][0].sum() == pytest.approx(1)


def test_the_sentences_of_the_lecture_have_the_tree_one_expects() -> None:
    assert run("eisner").numbers["heads"] == [2, 4, 4, 0, 4, 4]
    found = run("eisner", sentence="The men are fighting outside a deli .")
    assert found.numbers["heads"] == [2, 4, 4, 0, 4, 7, 5, 4]
    assert ("7 deli", "← outside") in [row[:2] for row in found.table[1]]


def test_p_of_the_best_tree_and_two_gradients_are_written_out() -> None:
    found: Any = run("eisner", sentence=SENTENCE, arcs=ARCS, of="2-1")
    theta = {(int(key[0]), int(key[2])): value for key, value in ARCS.items()}
    trees = projective_trees(4, single_root=True)
    p = np.exp([sum(theta.get(arc, 0.0) for arc in zip(heads, range(1, 5), strict=True)) for heads in trees])
    p /= p.sum()
    best, own, other = found.worked[-3:]
    assert best.endswith(f" = {p.max():.4g}")
    chosen = sum(p[at] for at, heads in enumerate(trees) if heads[0] == 2)
    rival = max(sum(p[at] for at, heads in enumerate(trees) if heads[0] == one) for one in (0, 3, 4))
    assert f"= {chosen - chosen**2:.4f}, a = b → a" in own
    assert f"= −{chosen * rival:.4f}, b = " in other
