"""MonotoneAlignment against every set of matches without crossings."""

from __future__ import annotations

import itertools
import math
from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures.alignment import MonotoneAlignment
from tests.structures.suite import StructureSuite, close, seeded
from tests.structures.truth import Case, Support, total

pytestmark = pytest.mark.thinned(5)

S, T = 3, 4
MATCH = torch.randn(4, S, T, dtype=torch.float64, generator=seeded(0))
SKIP_SOURCE = torch.randn(4, S, dtype=torch.float64, generator=seeded(1))
SKIP_TARGET = torch.randn(4, T, dtype=torch.float64, generator=seeded(2))
LENGTHS = (torch.tensor([3, 2, 0, 0]), torch.tensor([4, 1, 2, 0]))
NO_MATCH = torch.zeros(4, S, T, dtype=torch.bool)
NO_MATCH[0, 1] = NO_MATCH[1] = NO_MATCH[2, :, 1:] = True
NO_SKIP = torch.zeros(4, S, dtype=torch.bool)
NO_SKIP[0] = NO_SKIP[1, 0] = True


def listed(sources: int, targets: int) -> Support:
    support = []
    for matches in range(min(sources, targets) + 1):
        for chosen in itertools.combinations(range(sources), matches):
            for partners in itertools.combinations(range(targets), matches):
                value = np.zeros((S, T))
                value[list(chosen), list(partners)] = 1
                support.append((value, value))
    return support


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    match, source, target = potentials
    return total(match, value) + source[~value.any(1)].sum() + target[~value.any(0)].sum()


def ragged_score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    s, t = int(LENGTHS[0][b]), int(LENGTHS[1][b])
    return score(b, [potentials[0][:s, :t], potentials[1][:s], potentials[2][:t]], value[:s, :t], parts)


POTENTIALS = (MATCH, SKIP_SOURCE, SKIP_TARGET)


class TestMonotoneAlignment(StructureSuite):
    cases: ClassVar = {
        "ragged": Case(
            MonotoneAlignment,
            POTENTIALS,
            lambda b: listed(int(LENGTHS[0][b]), int(LENGTHS[1][b])),
            ragged_score,
            [35, 3, 1, 1],
            LENGTHS,
        ),
        # Source 1 cannot match: (2+4 choose 2). Nothing can: 1. Only the first target can: no match, or one
        # of three.
        "masked": Case(
            MonotoneAlignment, POTENTIALS, lambda b: listed(S, T), score, [15, 1, 4, 35], mask=~NO_MATCH
        ),
        # No source may be skipped: (4 choose 3). The first may not: all minus those that use only the other
        # two.
        "infinite": Case(
            MonotoneAlignment,
            POTENTIALS,
            lambda b: listed(S, T),
            score,
            [4, 20, 35, 35],
            excluded=[None, NO_SKIP, None],
        ),
    }


def test_there_are_as_many_as_ways_to_interleave() -> None:
    assert MonotoneAlignment(torch.zeros(40, 30)).count() == math.comb(70, 30)


def test_nothing_to_align() -> None:
    empty = MonotoneAlignment(torch.zeros(0, 3), skip_target=torch.tensor([1.0, 2.0, 3.0]))
    assert empty.log_partition == 6 and empty.count() == 1
    assert MonotoneAlignment(torch.zeros(0, 0)).log_partition == 0


def test_scores_of_standard_deviation_50_at_length_80() -> None:
    match = 50 * torch.randn(80, 70, dtype=torch.float64, generator=seeded(3))
    alignment = MonotoneAlignment(match)
    best = np.zeros((81, 71))
    for s, t in itertools.product(range(1, 81), range(1, 71)):
        best[s, t] = max(best[s - 1, t], best[s, t - 1], best[s - 1, t - 1] + match[s - 1, t - 1])
    close(alignment.mode_score, best[-1, -1])
    assert best[-1, -1] <= alignment.log_partition <= best[-1, -1] + math.log(math.comb(150, 70))
    marginals = alignment.marginals
    assert ((marginals >= 0) & (marginals <= 1 + 1e-9)).all() and (marginals.sum(0) <= 1 + 1e-9).all()


def test_lengths_come_in_pairs() -> None:
    with pytest.raises(ValueError, match="pair"):
        MonotoneAlignment(MATCH, lengths=torch.tensor([1, 2, 3, 3]))
    with pytest.raises(ValueError, match="target lengths must lie between 0 and 4"):
        MonotoneAlignment(MATCH, lengths=(None, [5]))
