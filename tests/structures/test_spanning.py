"""SpanningTree against every assignment of heads in which all words reach the root symbol."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest
import torch

from regard.structures.kernels.kirchhoff import determinant
from regard.structures.spanning import SpanningTree
from tests.structures.heads import HeadTrees, score
from tests.structures.suite import StructureSuite, close, g_test, rows, seeded
from tests.structures.truth import Case, log_sum, total

pytestmark = pytest.mark.thinned(3)
N = 3
ARCS = torch.randn(4, N + 1, N + 1, dtype=torch.float64, generator=seeded(0))
LABELLED = torch.randn(2, N, N, 2, dtype=torch.float64, generator=seeded(1))
LENGTHS = torch.tensor([3, 2, 1, 0])
NO_ARC = torch.zeros(4, N + 1, N + 1, dtype=torch.bool)
NO_ARC[0, 1:, 2] = NO_ARC[1, :, 3] = NO_ARC[2, 0, :] = NO_ARC[3, 0, 2:] = True
# 2 must be a root; 3 has no head; the root symbol has no child; 1 must be the root


def leads_to_root(heads: tuple[int, ...]) -> bool:
    for word in range(1, len(heads) + 1):
        at = word
        for _ in heads:
            at = heads[at - 1] if at else 0
        if at:
            return False
    return True


TREES = HeadTrees(leads_to_root)
trees, listed, labeled = TREES.trees, TREES.listed, TREES.labeled


def several_roots(arcs: torch.Tensor, **options: object) -> SpanningTree:
    return SpanningTree(arcs, single_root=False, **options)


# Cayley: (n+1)^(n−1) trees with any number of roots, n^(n−1) with one. Word 2 the only root: 3 trees over
# three words rooted at 2.
class TestSpanningTree(StructureSuite):
    cases: ClassVar = {
        "single root": Case(
            SpanningTree, (ARCS,), lambda b: listed(int(LENGTHS[b]), N + 1, True), score, [9, 2, 1, 1], LENGTHS
        ),
        "several roots": Case(
            several_roots, (ARCS,), lambda b: listed(int(LENGTHS[b]), N + 1, False), score, [16, 3, 1, 1], LENGTHS
        ),
        "masked": Case(
            SpanningTree, (ARCS,), lambda b: listed(N, N + 1, True), score, [3, 0, 0, 3], mask=~NO_ARC
        ),
        "infinite": Case(
            several_roots, (ARCS,), lambda b: listed(N, N + 1, False), score, [8, 0, 0, 3], excluded=[NO_ARC]
        ),
        "labeled": Case(
            lambda arcs, **options: SpanningTree(arcs, labeled=True, **options),
            (LABELLED,),
            lambda b: labeled(N - 1, 2),
            score,
            [8, 8],
        ),
    }  # fmt: skip


def brute_force(arcs: torch.Tensor, single_root: bool) -> tuple[float, np.ndarray]:
    n = arcs.shape[-1] - 1
    support = [value for value, _ in listed(n, n + 1, single_root)]
    scores = np.array([total(arcs.numpy(), value) for value in support])
    log_z = log_sum(scores)
    return log_z, np.tensordot(np.exp(scores - log_z), np.stack(support), 1)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, -15.0), (1.0, 800.0), (50.0, 0.0), (300.0, -1e4)])
def test_wide_scores_and_shifts(single_root: bool, scale: float, shift: float) -> None:
    """Precision survives a shift, and best heads that form cycles, where the determinant cancels."""
    arcs = scale * torch.randn(6, 5, 5, dtype=torch.float64, generator=seeded(3)) + shift
    structure = SpanningTree(arcs, single_root)
    for b in range(len(arcs)):
        log_z, marginals = brute_force(arcs[b], single_root)
        close(structure.log_partition[b], log_z, 1e-11)
        close(structure.marginals[b], marginals, 1e-9)


@pytest.mark.parametrize("single_root", [True, False])
def test_cycles_of_best_heads(single_root: bool) -> None:
    """Three words prefer each other to the root by 60 nats, so a subtraction loses all digits."""
    arcs = torch.randn(4, 4, dtype=torch.float64, generator=seeded(4))
    arcs[0] -= 60.0
    leaf = arcs.clone().requires_grad_()
    structure = SpanningTree(leaf, single_root)
    log_z, marginals = brute_force(arcs, single_root)
    close(structure.log_partition, log_z, 1e-11)
    close(structure.marginals, marginals, 1e-9)
    weight = torch.randn(4, 4, dtype=torch.float64, generator=seeded(5))
    (structure.marginals * weight).sum().backward()
    step = 1e-6
    for h, m in [(0, 1), (1, 2), (3, 1)]:
        moved = torch.zeros_like(arcs)
        moved[h, m] = step
        ahead, behind = brute_force(arcs + moved, single_root)[1], brute_force(arcs - moved, single_root)[1]
        close(leaf.grad[h, m], ((ahead - behind) * weight.numpy()).sum() / (2 * step), 1e-6)


@pytest.mark.parametrize("single_root", [True, False])
def test_samples_where_walks_would_not_end(single_root: bool) -> None:
    arcs = torch.randn(4, 4, dtype=torch.float64, generator=seeded(4))
    arcs[0] -= 60.0
    draws = SpanningTree(arcs, single_root).sample((2000,), generator=seeded(6))
    values = np.stack([value for value, _ in listed(3, 4, single_root)])
    scores = np.array([total(arcs.numpy(), value) for value in values])
    expected = dict(zip(rows(torch.tensor(values)), np.exp(scores - log_sum(scores)), strict=True))
    observed = dict.fromkeys(expected, 0)
    for row in rows(draws):
        observed[row] += 1
    assert g_test(list(observed.values()), list(expected.values())) > 1e-3


def test_sharp_scores_at_length_80() -> None:
    arcs = (50 * torch.randn(2, 81, 81, dtype=torch.float64, generator=seeded(7))).requires_grad_()
    structure = SpanningTree(arcs, lengths=torch.tensor([80, 60]))
    marginals = structure.marginals
    close(marginals.sum((-2, -1)), [80, 60])
    close(marginals[:, 0].sum(-1), [1, 1])
    assert (structure.log_partition >= structure.mode_score - 1e-9).all()
    (marginals * torch.randn(marginals.shape, dtype=torch.float64)).sum().backward()
    assert arcs.grad.isfinite().all() and (arcs.grad[1, 61:] == 0).all()


def test_large_counts_are_exact() -> None:
    assert SpanningTree(torch.zeros(31, 31)).count() == 30**29
    assert SpanningTree(torch.zeros(31, 31), single_root=False).count() == 31**29
    assert determinant([[0, 2], [3, 1]]) == -6


def test_best_tree_of_many_words_is_the_best_of_its_neighbours() -> None:
    """Edmonds against local search: no tree that differs in one head is better; there is one root."""
    arcs = torch.randn(12, 13, 13, dtype=torch.float64, generator=seeded(8))
    arcs[:, 0] += 2.0  # without the constraint, the best has several roots
    structure = SpanningTree(arcs)
    heads = structure.heads(structure.mode)
    assert ((heads == 0).sum(-1) == 1).all()
    several = SpanningTree(arcs, single_root=False)
    assert ((several.heads(several.mode) == 0).sum(-1) > 1).any()
    assert (several.mode_score >= structure.mode_score).all()
    for b in range(12):
        for m in range(1, 13):
            for h in range(13):
                changed = heads[b].clone()
                changed[m - 1] = h
                tree = tuple(changed.tolist())
                if h != m and tree.count(0) == 1 and leads_to_root(tree):
                    value = sum(float(arcs[b, head, word]) for word, head in enumerate(tree, 1))
                    assert value <= float(structure.mode_score[b]) + 1e-9


def test_two_instances_side_by_side() -> None:
    """The option belongs to the instance: an instance with several roots does not affect the other."""
    arcs = torch.zeros(4, 4)
    single, several = SpanningTree(arcs), SpanningTree(arcs, single_root=False)
    close(single.log_partition.exp(), 9, 1e-5)
    close(several.log_partition.exp(), 16, 1e-5)
