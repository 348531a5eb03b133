"""Queries that torch-struct 0.5 answers wrongly, each with the right answer by enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from regard.structures import BinaryTree, LinearChain, ProjectiveTree, SemiMarkov
from tests.structures import test_dependency, test_semimarkov
from tests.structures.suite import close, rows, seeded
from tests.structures.truth import log_sum, total

BACKENDS = pytest.mark.parametrize("backend", ["reference", "auto"])


@BACKENDS
def test_eisner_with_excluded_arcs_has_no_nan(backend: str) -> None:
    scores = torch.randn(5, 5, dtype=torch.float64, generator=seeded(0))
    leaf = scores.clone().requires_grad_()
    excluded = torch.zeros(5, 5, dtype=torch.bool)
    excluded[0, 1] = excluded[2, 3] = excluded[4, 3] = True
    tree = ProjectiveTree(torch.where(excluded, -torch.inf, leaf), backend=backend)
    listed = [
        value for value, _ in test_dependency.listed(4, 5, True) if not (value * excluded.numpy()).any()
    ]
    weights = np.exp([total(scores.numpy(), value) for value in listed])
    expected = np.tensordot(weights / weights.sum(), np.stack(listed), 1)
    close(tree.log_partition, math.log(weights.sum()))
    close(tree.marginals, expected)
    assert (tree.marginals[excluded] == 0).all()
    (gradient,) = torch.autograd.grad(tree.marginals.square().sum(), leaf)
    assert gradient.isfinite().all() and (gradient[excluded] == 0).all() and gradient.any()


def test_ragged_semi_markov_equals_each_sequence_alone() -> None:
    segments = torch.randn(3, 4, 2, 2, dtype=torch.float64, generator=seeded(1))
    lengths = [4, 3, 1]
    ragged = SemiMarkov(segments, lengths=lengths)
    for b, length in enumerate(lengths):
        listed = [value for value, _ in test_semimarkov.listed(length)]
        scores = np.array([total(segments[b].numpy(), value) for value in listed])
        close(ragged.log_partition[b], log_sum(scores))
        close(ragged.marginals[b], np.tensordot(np.exp(scores - log_sum(scores)), np.stack(listed), 1))


@BACKENDS
def test_one_position(backend: str) -> None:
    nodes = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    chain = LinearChain(torch.zeros(0, 3, 3, dtype=torch.float64), nodes.unsqueeze(0), backend=backend)
    close(chain.log_partition, log_sum(nodes.numpy()))
    close(chain.node_marginals[0], np.exp(nodes.numpy() - log_sum(nodes.numpy())))
    assert chain.states(chain.mode).tolist() == [2] and chain.count() == 3
    tree = ProjectiveTree(torch.tensor([[9.0, 1.5], [9.0, 9.0]]), backend=backend)
    assert tree.log_partition == 1.5 and tree.marginals.tolist() == [[0, 1], [0, 0]] and tree.count() == 1
    assert BinaryTree(torch.tensor([[2.5]]), backend=backend).log_partition == 2.5
    semi_markov = SemiMarkov(nodes.view(1, 1, 3), backend=backend)
    close(semi_markov.log_partition, log_sum(nodes.numpy()))


@BACKENDS
def test_root_options_belong_to_the_instance(backend: str) -> None:
    arcs = torch.randn(4, 4, dtype=torch.float64, generator=seeded(2))
    several = ProjectiveTree(arcs, single_root=False, backend=backend)
    single = ProjectiveTree(arcs, single_root=True, backend=backend)
    for tree, single_root, count in ((several, False, 12), (single, True, 7), (several, False, 12)):
        listed = [value for value, _ in test_dependency.listed(3, 4, single_root)]
        assert tree.count() == len(listed) == count
        close(tree.log_partition, log_sum(np.array([total(arcs.numpy(), value) for value in listed])))


def test_a_kth_best_that_does_not_exist() -> None:
    values, scores = BinaryTree(torch.randn(3, 3, generator=seeded(3))).topk(4)
    assert scores[:2].isfinite().all() and scores[0] >= scores[1]
    assert (scores[2:] == -torch.inf).all() and not values[2:].any()
    assert len(set(rows(values[:2]))) == 2
    tied, _ = LinearChain(torch.zeros(2, 2, 2)).topk(8)
    assert len(set(rows(tied))) == 8
