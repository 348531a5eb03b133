"""Categorical and Bernoulli against enumeration of their support."""

from __future__ import annotations

import itertools
from typing import ClassVar

import numpy as np
import torch

from regard.structures.simple import Bernoulli, Categorical
from tests.structures.suite import StructureSuite, g_test, rows, seeded
from tests.structures.truth import Case, Support, total

SCORES = torch.randn(3, 4, dtype=torch.float64, generator=seeded(0))
LENGTHS = torch.tensor([4, 1, 0])
MASK = torch.tensor([[1, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0]]).bool()
EXCLUDED = torch.tensor([[0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]).bool()


def one_position(length: int) -> Support:
    choices = [np.eye(4)[s] for s in range(length)] or [np.zeros(4)]
    return [(choice, choice) for choice in choices]


def any_subset(length: int) -> Support:
    subsets = [np.array([*bits, *[0] * (4 - length)]) for bits in itertools.product([0, 1], repeat=length)]
    return [(subset, subset) for subset in subsets]


def score(b: int, potentials: list[np.ndarray], value: np.ndarray, parts: np.ndarray) -> float:
    return total(potentials[0], value)


def case(build: type, support: object, counts: list[int], **options: object) -> Case:
    lengths = options.get("lengths")
    sizes = [4, 4, 4] if lengths is None else lengths.tolist()
    return Case(build, (SCORES,), lambda b: support(sizes[b]), score, counts, **options)


class TestCategorical(StructureSuite):
    cases: ClassVar = {
        "full": case(Categorical, one_position, [4, 4, 4]),
        "ragged": case(Categorical, one_position, [4, 1, 1], lengths=LENGTHS),
        "masked": case(Categorical, one_position, [3, 0, 1], mask=MASK),
        "infinite": case(Categorical, one_position, [3, 4, 2], excluded=[EXCLUDED]),
    }


class TestBernoulli(StructureSuite):
    cases: ClassVar = {
        "full": case(Bernoulli, any_subset, [16, 16, 16]),
        "ragged": case(Bernoulli, any_subset, [16, 2, 1], lengths=LENGTHS),
        "masked": case(Bernoulli, any_subset, [8, 1, 2], mask=MASK),
        "infinite": case(Bernoulli, any_subset, [8, 16, 4], excluded=[EXCLUDED]),
    }


def test_rsample_is_exact_where_parts_are_independent() -> None:
    for structure, support in (
        (Categorical(SCORES[0]), one_position(4)),
        (Bernoulli(SCORES[0]), any_subset(4)),
    ):
        values = torch.tensor(np.array([value for value, _ in support]))
        expected = structure.log_prob(values).exp().tolist()
        seen = rows(structure.rsample((3000,), generator=seeded(4)).detach().round())
        assert g_test([seen.count(row) for row in rows(values)], expected) > 1e-3
