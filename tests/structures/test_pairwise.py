"""Approximate marginals beside those of all labelings listed: exact on trees, biased on cycles as they say."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor

from regard.structures import LinearChain, PairwiseField, Structure

N, C = 5, 3


def scores(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return scale * torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def connected(edges: list[tuple[int, int]], *, seed: int = 1, scale: float = 1.0, batch: int = 2) -> Tensor:
    pairs, drawn = torch.zeros(batch, N, N, C, C, dtype=torch.float64), scores(batch, N, N, C, C, seed=seed)
    for i, j in edges:
        pairs[:, i, j] = scale * drawn[:, i, j]
    return pairs


def exact(nodes: Tensor, pairs: Tensor) -> tuple[Tensor, Tensor]:
    """log Z and marginals of one field, from all C^N labelings."""
    every = torch.tensor(list(product(range(nodes.shape[-1]), repeat=len(nodes))))
    worth = nodes[range(len(nodes)), every].sum(-1)
    for i, j in product(range(len(nodes)), repeat=2):
        if i < j:
            worth = worth + pairs[i, j, every[:, i], every[:, j]]
    hot = torch.nn.functional.one_hot(every, nodes.shape[-1]).double()
    return worth.logsumexp(0), torch.einsum("k,knc->nc", worth.softmax(0), hot)


CHAIN = [(n, n + 1) for n in range(N - 1)]
STAR = [(0, 2), (1, 2), (2, 3), (2, 4)]
CYCLES = [*CHAIN, (0, 4), (1, 3)]


@pytest.mark.parametrize("edges", [CHAIN, STAR], ids=["chain", "star"])
def test_belief_propagation_is_exact_without_cycles(edges: list[tuple[int, int]]) -> None:
    nodes, pairs = scores(2, N, C), connected(edges)
    found = PairwiseField(nodes, pairs).loopy(steps=60)
    for row in range(2):
        total, marginals = exact(nodes[row], pairs[row])
        torch.testing.assert_close(found.marginals[row], marginals, atol=1e-8, rtol=0)
        torch.testing.assert_close(found.log_partition[row], total, atol=1e-8, rtol=0)
    assert found.method == "loopy" and found.bound == "none" and float(found.change.max()) < 1e-8


def test_it_agrees_with_the_chain() -> None:
    nodes, pairs = scores(2, N, C), connected(CHAIN)
    edges = torch.stack([pairs[:, n, n + 1] for n in range(N - 1)], 1)
    chain = LinearChain(edges, nodes)
    found = PairwiseField(nodes, pairs).loopy(steps=60)
    torch.testing.assert_close(found.log_partition, chain.log_partition, atol=1e-8, rtol=0)


@pytest.mark.parametrize("scale", [0.2, 1.0, 3.0])
def test_mean_field_is_a_lower_bound_and_near_for_weak_pairs(scale: float) -> None:
    nodes, pairs = scores(2, N, C), connected(CYCLES, scale=scale)
    found, loopy = PairwiseField(nodes, pairs).mean_field(), PairwiseField(nodes, pairs).loopy(steps=200)
    assert found.method == "mean-field" and found.bound == "lower"
    for row in range(2):
        total, marginals = exact(nodes[row], pairs[row])
        assert float(found.log_partition[row]) <= float(total)
        if scale == 0.2:
            assert float((found.marginals[row] - marginals).abs().max()) < 0.02
            assert float((loopy.marginals[row] - marginals).abs().max()) < 0.002


def test_both_are_too_sure_where_neighbors_attract_each_other() -> None:
    """A cycle of two labels; a weak preference at one place. Marginals are farther from ½ than the exact ones."""
    nodes, pairs = torch.zeros(4, 2).double(), torch.zeros(4, 4, 2, 2).double()
    nodes[0, 1] = 0.2
    for i, j in [(0, 1), (1, 2), (2, 3), (0, 3)]:
        pairs[i, j] = 2 * torch.eye(2)
    field, (_, marginals) = PairwiseField(nodes, pairs), exact(nodes, pairs)
    for found in (field.loopy(steps=500), field.mean_field(steps=500)):
        assert (found.marginals[:, 1] > marginals[:, 1] + 0.01).all(), found.method
    assert field.approximate and not isinstance(field, Structure)


def test_gradients_and_scores() -> None:
    nodes, pairs = scores(N, C).requires_grad_(), connected(CHAIN, batch=1)[0].requires_grad_()
    labels = torch.tensor([2, 0, 1, 1, 2])
    true = sum(nodes[n, labels[n]] for n in range(N)) + sum(
        pairs[n, n + 1, labels[n], labels[n + 1]] for n in range(N - 1)
    )
    assert PairwiseField(nodes, pairs).score(labels).item() == pytest.approx(true.item())
    total = PairwiseField(nodes, pairs).loopy(steps=60).log_partition
    (found,) = torch.autograd.grad(total, nodes)  # on a tree: the marginals
    torch.testing.assert_close(found, exact(nodes, pairs)[1], atol=1e-7, rtol=0)
    with pytest.raises(ValueError, match="pairs must have shape"):
        PairwiseField(nodes, torch.zeros(N, N, C))
