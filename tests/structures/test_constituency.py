"""BinaryTree against every bracketing."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures.constituency import BinaryTree
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, total

pytestmark = pytest.mark.thinned(3)
N = 5
SPANS = torch.randn(4, N, N, dtype=torch.float64, generator=seeded(0))
LABELLED = torch.randn(2, 3, 3, 2, dtype=torch.float64, generator=seeded(1))
LENGTHS = torch.tensor([5, 3, 1, 0])
NO_SPAN = torch.zeros(4, N, N, dtype=torch.bool)
NO_SPAN[0, 0, 2] = NO_SPAN[0, 0, 3] = NO_SPAN[0, 0, 1] = NO_SPAN[1, 0, 4] = NO_SPAN[2, 2, 3] = True


def bracketings(start: int, end: int) -> list[list[tuple[int, int]]]:
    """The spans of every binary tree over start .. end inclusive."""
    if start == end:
        return [[(start, end)]]
    return [
        [(start, end), *left, *right]
        for split in range(start, end)
        for left in bracketings(start, split)
        for right in bracketings(split + 1, end)
    ]


def listed(length: int) -> Support:
    support = []
    for tree in bracketings(0, length - 1) if length else [[]]:
        value = np.zeros((N, N))
        for span in tree:
            value[span] = 1
        support.append((value, value))
    return support


def labeled(length: int, labels: int) -> Support:
    support = []
    for tree in bracketings(0, length - 1):
        for choice in itertools.product(range(labels), repeat=len(tree)):
            value = np.zeros((length, length, labels))
            for span, label in zip(tree, choice, strict=True):
                value[(*span, label)] = 1
            support.append((value, value))
    return support


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    return total(potentials[0], value)


def catalan(n: int) -> int:
    return math.comb(2 * n, n) // (n + 1)


class TestBinaryTree(StructureSuite):
    cases: ClassVar = {
        "ragged": Case(
            BinaryTree, (SPANS,), lambda b: listed(int(LENGTHS[b])), score, [14, 2, 1, 1], LENGTHS
        ),
        # Without prefix spans, the first position combines last. Without the full span there is no tree. 5 of
        # the 14 trees join positions 2 and 3.
        "masked": Case(BinaryTree, (SPANS,), lambda b: listed(N), score, [5, 0, 9, 14], mask=~NO_SPAN),
        "infinite": Case(BinaryTree, (SPANS,), lambda b: listed(N), score, [5, 0, 9, 14], excluded=[NO_SPAN]),
        "labeled": Case(
            lambda spans, **options: BinaryTree(spans, labeled=True, **options),
            (LABELLED,),
            lambda b: labeled(3, 2),
            score,
            [2 * 2**5] * 2,
        ),
    }


def test_counts_are_the_catalan_numbers() -> None:
    for n in range(1, 9):
        assert BinaryTree(torch.zeros(n, n)).count() == catalan(n - 1)
    assert BinaryTree(torch.zeros(40, 40)).count() == catalan(39)


def test_scores_of_standard_deviation_50_at_length_80() -> None:
    spans = 50 * torch.randn(80, 80, dtype=torch.float64, generator=seeded(2))
    tree = BinaryTree(spans)
    best = total(spans.numpy(), tree.mode.numpy())
    close(tree.mode_score, best)
    assert best <= tree.log_partition <= best + math.log(catalan(79))
    marginals = tree.marginals
    close(marginals.diagonal(), [1.0] * 80)
    close(marginals.sum(), 2 * 80 - 1)
    assert ((marginals >= 0) & (marginals <= 1 + 1e-9)).all()


def test_spans_must_be_square() -> None:
    with pytest.raises(ValueError, match=r"spans must have shape \(\.\.\., N=3, N=3\) but has \(3, 4\)"):
        BinaryTree(torch.zeros(3, 4))
