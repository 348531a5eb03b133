"""Sparsemax against the projection that defines it, and its gradient against finite differences."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from regard import Spec
from regard.nn import Attention, Memory
from regard.nn.selections.sparsemax import Sparsemax, sparsemax

EVERYWHERE = torch.ones(1, 1, 5, dtype=torch.bool)


def projection(scores: Tensor) -> Tensor:
    """The closest point of the simplex, by trying every support: the best feasible KKT solution."""
    best, nearest = None, None
    places = range(len(scores))
    for size in range(1, len(scores) + 1):
        for support in itertools.combinations(places, size):
            point = torch.zeros_like(scores)
            chosen = list(support)
            point[chosen] = scores[chosen] + (1 - scores[chosen].sum()) / size
            if (point >= 0).all():
                distance = float((point - scores).square().sum())
                if best is None or distance < best:
                    best, nearest = distance, point
    assert nearest is not None
    return nearest


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_nearest_distribution(seed: int) -> None:
    scores = torch.randn(5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * (
        1 + seed % 3
    )
    found = sparsemax(scores[None, None], EVERYWHERE)[0, 0]
    torch.testing.assert_close(found, projection(scores), atol=1e-12, rtol=0)


def test_two_positions_as_published() -> None:
    # Martins and Astudillo 2016: for (t, 0) the first weight is (t + 1) / 2 if |t| ≤ 1, else 0 or 1
    for t, first in ((-2.0, 0.0), (-1.0, 0.0), (-0.5, 0.25), (0.0, 0.5), (0.5, 0.75), (1.0, 1.0), (3.0, 1.0)):
        weights = sparsemax(torch.tensor([[[t, 0.0]]]), torch.ones(1, 1, 2, dtype=torch.bool))
        torch.testing.assert_close(weights[0, 0], torch.tensor([first, 1 - first]))


def test_masked_positions_and_rows_without_any() -> None:
    mask = torch.tensor([[True, False, True, False], [False] * 4])
    scores = torch.tensor([[[0.1, 9.0, 0.3, 7.0]], [[1.0, 2.0, 3.0, 4.0]]], requires_grad=True)
    weights = Sparsemax()(scores, mask)
    torch.testing.assert_close(weights[0, 0], torch.tensor([0.4, 0.0, 0.6, 0.0]))
    assert (weights[1] == 0).all()
    weights.square().sum().backward()
    assert scores.grad is not None and scores.grad.isfinite().all()
    assert (scores.grad[0, 0, [1, 3]] == 0).all() and (scores.grad[1] == 0).all()


def test_gradient_is_that_of_finite_differences() -> None:
    scores = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    scores.requires_grad_()
    mask = torch.tensor([[True] * 5, [True, True, True, False, False]])
    assert torch.autograd.gradcheck(lambda e: Sparsemax()(e, mask), (scores,))


def test_attention_reads_only_what_is_selected() -> None:
    torch.manual_seed(0)
    attention = Attention(4, 4, score="dot", select="sparsemax")
    memory = Memory(torch.randn(1, 6, 4) * 3, torch.ones(1, 6, dtype=torch.bool), torch.zeros(1, 4))
    look = attention(torch.randn(1, 2, 4) * 3, memory)
    assert (look.weights == 0).any() and torch.allclose(look.weights.sum(-1), torch.ones(1, 2))
    torch.testing.assert_close(look.context, look.weights @ memory.values)


def test_a_spec_names_it_and_nothing_else_changes() -> None:
    document = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "attention": {"score": "additive", "select": "sparsemax"},
    }
    spec = Spec.parse(document)
    assert spec.decoder["target"].attention[0].select.part is Sparsemax
