"""Entmax against the maximization that defines it, its two known limits, and finite differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from regard import RegardError, Spec
from regard.nn.selections.entmax import Entmax, entmax
from regard.nn.selections.sparsemax import sparsemax

EVERYWHERE = torch.ones(1, 1, 5, dtype=torch.bool)


def scores_of(seed: int, scale: float = 1.0) -> torch.Tensor:
    return torch.randn(1, 1, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) * scale


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8, 2.5])
@pytest.mark.parametrize("seed", range(4))
def test_it_maximizes_score_and_entropy(alpha: float, seed: int) -> None:
    scores = scores_of(seed).numpy()[0, 0]

    def negative(p: np.ndarray) -> float:
        p = np.clip(p, 0, None)
        return float(-(p @ scores) - ((p - p**alpha) / (alpha * (alpha - 1))).sum())

    start = np.full(5, 0.2)
    found = minimize(
        negative,
        start,
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    weights = entmax(torch.from_numpy(scores)[None, None], EVERYWHERE, alpha)[0, 0]
    assert negative(weights.numpy()) <= found.fun + 1e-9
    np.testing.assert_allclose(weights.numpy(), found.x, atol=1e-4)


def test_its_ends_are_sparsemax_and_softmax() -> None:
    scores = scores_of(1, 2.0)
    torch.testing.assert_close(
        entmax(scores, EVERYWHERE, 2.0), sparsemax(scores, EVERYWHERE), atol=1e-9, rtol=0
    )
    torch.testing.assert_close(
        entmax(scores, EVERYWHERE, 1.0001), torch.softmax(scores, -1), atol=1e-3, rtol=0
    )


def test_one_and_a_half_in_closed_form() -> None:
    # With 1.5, α = max(e/2 − τ, 0)². For two positions with positive weight: (e₁ − e₂)/2 = √α₁ − √α₂.
    weights = entmax(torch.tensor([[[0.6, 0.0]]]), torch.ones(1, 1, 2, dtype=torch.bool), 1.5)[0, 0]
    assert abs(float(weights.sqrt() @ torch.tensor([1.0, -1.0])) - 0.3) < 1e-6
    far = entmax(torch.tensor([[[4.0, 0.0]]]), torch.ones(1, 1, 2, dtype=torch.bool), 1.5)[0, 0]
    assert far.tolist() == [1.0, 0.0]


def test_masked_positions_rows_without_any_and_gradients() -> None:
    mask = torch.tensor([[True] * 5, [True, True, False, False, True], [False] * 5])
    scores = torch.randn(3, 2, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    scores.requires_grad_()
    weights = Entmax()(scores, mask)
    assert (weights[1, :, 2:4] == 0).all() and (weights[2] == 0).all()
    torch.testing.assert_close(weights[:2].sum(-1), torch.ones(2, 2, dtype=torch.float64))
    for alpha in (1.3, 1.5, 2.0):
        select = Entmax(alpha=alpha)
        assert torch.autograd.gradcheck(lambda e, select=select: select(e, mask), (scores,), atol=1e-6)


def test_the_option_is_where_the_selection_is() -> None:
    document = {
        "inputs": {"source": {"type": "text"}},
        "outputs": {"target": {"type": "text"}},
        "attention": {"select": {"type": "entmax", "alpha": 1.8}},
    }
    assert Spec.parse(document).decoder["target"].attention[0].select.alpha == 1.8
    with pytest.raises(RegardError, match="greater than 1"):
        Spec.parse(document, ["attention.select.alpha=1"])
