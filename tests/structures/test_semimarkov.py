"""SemiMarkov against every segmentation and labeling of a sequence."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures.semimarkov import SemiMarkov
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, log_sum, total

pytestmark = pytest.mark.thinned(5)

N, D, C = 4, 2, 2
SEGMENTS = torch.randn(4, N, D, C, dtype=torch.float64, generator=seeded(0))
TRANSITIONS = torch.randn(4, C, C, dtype=torch.float64, generator=seeded(1))
LENGTHS = torch.tensor([4, 3, 1, 0])
NO_SEGMENT = torch.zeros(4, N, D, C, dtype=torch.bool)
NO_SEGMENT[0, :, 1] = NO_SEGMENT[1, 0] = NO_SEGMENT[2, :, 0, 0] = True
NO_REPEAT = torch.zeros(4, C, C, dtype=torch.bool)
NO_REPEAT[0, 0, 0] = NO_REPEAT[0, 1, 1] = True


def cuts(start: int, end: int) -> list[list[tuple[int, int, int]]]:
    """Every list of (position, duration index, label) that covers start .. end − 1."""
    if start == end:
        return [[]]
    firsts = itertools.product(range(min(D, end - start)), range(C))
    return [[(start, d, c), *rest] for d, c in firsts for rest in cuts(start + d + 1, end)]


def listed(length: int) -> Support:
    support = []
    for segments in cuts(0, length):
        value = np.zeros((N, D, C))
        for segment in segments:
            value[segment] = 1
        support.append((value, value))
    return support


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    labels = np.argwhere(value)[:, 2]
    between = sum(potentials[1][pair] for pair in itertools.pairwise(labels)) if len(potentials) > 1 else 0.0
    return total(potentials[0], value) + between


class TestSemiMarkov(StructureSuite):
    cases: ClassVar = {
        # f(n) = C f(n−1) + C f(n−2): 1, 2, 6, 16, 44
        "ragged": Case(
            SemiMarkov,
            (SEGMENTS, TRANSITIONS),
            lambda b: listed(int(LENGTHS[b])),
            score,
            [44, 16, 2, 1],
            LENGTHS,
        ),
        "alone": Case(
            SemiMarkov, (SEGMENTS,), lambda b: listed(int(LENGTHS[b])), score, [44, 16, 2, 1], LENGTHS
        ),
        # Only single positions: C^N. None at the start: none. Single positions have only one label:
        # f(n) = f(n−1) + 2 f(n−2).
        "masked": Case(
            SemiMarkov, (SEGMENTS, TRANSITIONS), lambda b: listed(N), score, [16, 0, 11, 44], mask=~NO_SEGMENT
        ),
        # Labels alternate, so each of the 5 segmentations has two labelings.
        "infinite": Case(
            SemiMarkov,
            (SEGMENTS, TRANSITIONS),
            lambda b: listed(N),
            score,
            [10, 44, 44, 44],
            excluded=[None, NO_REPEAT],
        ),
    }


def test_count_without_a_limit_on_duration() -> None:
    for n, c in [(1, 3), (4, 2), (60, 5)]:
        assert SemiMarkov(torch.zeros(n, n, c)).count() == c * (1 + c) ** (n - 1)


def test_scores_of_standard_deviation_50_at_length_80() -> None:
    segments = 50 * torch.randn(80, 3, 2, dtype=torch.float64, generator=seeded(2))
    transitions = 50 * torch.randn(2, 2, dtype=torch.float64, generator=seeded(3))
    array, between = segments.numpy(), transitions.numpy()
    ending = {0: None}
    for end in range(1, 81):
        by_label = []
        for label in range(2):
            ways = [array[end - 1 - d, d, label] for d in range(3) if end - 1 - d == 0]
            for d in range(min(3, end - 1)):
                before = ending[end - 1 - d]
                ways += [array[end - 1 - d, d, label] + before[c] + between[c, label] for c in range(2)]
            by_label.append(log_sum(np.array(ways)))
        ending[end] = by_label
    close(SemiMarkov(segments, transitions).log_partition, log_sum(np.array(ending[80])))
