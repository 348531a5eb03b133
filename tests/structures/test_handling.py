"""Structures from arrays and lists, indexed, expanded and converted: answers still agree with enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from regard.structures import Categorical, LinearChain, PositionChain
from tests.structures.suite import close, seeded
from tests.structures.test_alignment import TestMonotoneAlignment as Alignments
from tests.structures.test_chain import TestLinearChain as Chains
from tests.structures.test_constituency import TestBinaryTree as Trees
from tests.structures.test_semimarkov import TestSemiMarkov as Segments
from tests.structures.test_simple import TestCategorical as Choices
from tests.structures.test_spanning import TestSpanningTree as Arcs
from tests.structures.truth import Case

SUITES = (Alignments, Chains, Trees, Segments, Choices, Arcs)
CASES = {suite.__name__[4:]: next(iter(suite.cases.values())) for suite in SUITES}
del (
    Alignments,
    Chains,
    Trees,
    Segments,
    Choices,
    Arcs,
    SUITES,
)  # so that pytest does not collect their tests here


@pytest.mark.parametrize("name", CASES)
def test_arrays_indices_and_larger_batches(name: str) -> None:
    case: Case = CASES[name]
    truths = case.truth()
    structure = case.make([potential.numpy() for potential in case.potentials])
    partitions = [truth.log_partition for truth in truths]
    close(structure.log_partition, partitions)
    close(structure[1].log_partition, partitions[1])
    close(structure[1:].log_partition, partitions[1:])
    close(structure[[1, 0]].marginals, [truths[1].marginals, truths[0].marginals])
    close(structure.expand((2, len(truths))).log_partition, [partitions] * 2)
    close(structure.to(torch.float32).log_partition, partitions, 1e-4)
    values = np.stack([truth.values[0] for truth in truths])
    close(structure.log_prob(values), structure.log_prob(torch.tensor(values)).tolist())
    with pytest.raises(IndexError):
        structure[len(truths)]
    with pytest.raises(ValueError, match="does not expand"):
        structure.expand((len(truths) + 1,))


def test_lists_and_precisions() -> None:
    assert Categorical([0, 0, 0]).log_partition.item() == pytest.approx(np.log(3))
    assert Categorical(np.zeros(3)).log_partition.dtype == torch.float64
    assert Categorical([0.0, 0.0, 0.0], mask=[True, True, False]).marginals.tolist() == [0.5, 0.5, 0.0]
    assert LinearChain([[0.0, 0.0], [0.0, 0.0]], nodes=np.zeros((4, 2)), lengths=[3]).count() == [8]
    with pytest.raises(ValueError, match="scores must be a tensor, an array or nested lists"):
        Categorical([[0.0], [0.0, 1.0]])
    with pytest.raises(IndexError, match="no batch dimensions"):
        Categorical([0.0, 0.0])[0]


def test_what_a_batch_shares_stays_shared() -> None:
    scores = torch.randn(3, 2, 4, dtype=torch.float64, generator=seeded(0))
    transitions = torch.randn(4, 4, dtype=torch.float64, generator=seeded(1))
    chain = PositionChain(scores, transitions, lengths=[2, 1, 2])
    alone = PositionChain(scores[1], transitions, lengths=1)
    torch.testing.assert_close(chain[1].marginals, alone.marginals)
    assert chain[1:].potentials[1].shape == (4, 4)
