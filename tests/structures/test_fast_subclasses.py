"""A subclass that changes the program or its potentials is computed as it is written, without its parent's kernels."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.structures import LinearChain, ProjectiveTree, Segmentation


class RestlessChain(LinearChain):
    """The first state never follows itself."""

    def _inside(self, semiring: Any, *parts: Tensor) -> Tensor:
        edges, nodes = parts
        repeated = torch.zeros(edges.shape[-2:], dtype=torch.bool)
        repeated[0, 0] = True
        return super()._inside(semiring, torch.where(repeated, semiring.zeros_like(edges), edges), nodes)


class LeaningChain(LinearChain):
    """The last state is favored everywhere."""

    @property
    def potentials(self) -> tuple[Tensor, ...]:
        edges, nodes = super().potentials
        return edges, nodes + torch.arange(nodes.shape[-1]).to(nodes)


def enumerated(weigh: Any, N: int, C: int) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """log Σ_z, the marginals of the states, and the best sequence, over all C^N of them."""
    every = list(itertools.product(range(C), repeat=N))
    scores = torch.stack([weigh(states) for states in every])
    shares, seen = torch.softmax(scores, 0), torch.zeros(N, C, dtype=scores.dtype)
    for states, share in zip(every, shares, strict=True):
        for n, state in enumerate(states):
            seen[n, state] += share
    return scores.logsumexp(0), seen, every[int(scores.argmax())]


@pytest.mark.parametrize("kind", [RestlessChain, LeaningChain])
def test_a_changed_chain_equals_enumeration(kind: type[LinearChain]) -> None:
    N, C = 4, 3
    torch.manual_seed(2)
    edges, nodes = torch.randn(N - 1, C, C, dtype=torch.float64), torch.randn(N, C, dtype=torch.float64)

    def weigh(states: tuple[int, ...]) -> Tensor:
        total = sum(nodes[n, state] for n, state in enumerate(states))
        total = total + sum(edges[n, a, b] for n, (a, b) in enumerate(itertools.pairwise(states)))
        if kind is LeaningChain:
            return total + sum(states)
        return total - torch.inf if (0, 0) in itertools.pairwise(states) else total

    total, marginals, best = enumerated(weigh, N, C)
    chain = kind(edges, nodes)
    torch.testing.assert_close(chain.log_partition, total)
    torch.testing.assert_close(chain.mean, marginals)
    torch.testing.assert_close(chain.node_marginals, marginals)
    assert tuple(chain.states(chain.mode).tolist()) == best
    assert chain.backend == "reference" and chain.expand([2]).backend == "reference"


def test_other_subclasses_stay_fast() -> None:
    class Named(LinearChain):
        def __repr__(self) -> str:
            return "named"

    assert Named(torch.zeros(2, 3, 3)).backend == "auto"
    assert Segmentation(torch.zeros(3), torch.zeros(2, 2)).backend == "auto"
    assert ProjectiveTree(torch.zeros(4, 4)).backend == "auto"
