"""Attention on a worked example, and the properties of each selection."""

from __future__ import annotations

import math

import pytest
import torch

from regard.nn import Attention, Memory
from regard.nn.guided_attention import guide_total
from regard.nn.selections import Given, Local, Segmental, Sigmoid, Softmax, Uniform


def worked(select):
    """Query (1, 1, 0) against the annotations (1, 3, 0), (0, 0, 1), (5, −1, 2) with w = (−1, −1, −1, 2, 2, 2)."""
    values = torch.tensor([[[1.0, 3, 0], [0, 0, 1], [5, -1, 2]]])
    memory = Memory(values, torch.ones(1, 3, dtype=torch.bool), values.mean(1))
    attention = Attention(3, 3, score="linear", select=select)
    with torch.no_grad():
        attention.score.vector.copy_(torch.tensor([-1.0, -1, -1, 2, 2, 2]))
        return attention(torch.tensor([[[1.0, 1, 0]]]), memory)


def test_linear_score_on_the_worked_example():
    look = worked("softmax")
    torch.testing.assert_close(look.scores[0, 0], torch.tensor([6.0, 0.0, 10.0]))
    torch.testing.assert_close(look.weights[0, 0], torch.tensor([0.018, 0.000, 0.982]), atol=5e-4, rtol=0)
    torch.testing.assert_close(look.context[0, 0], torch.tensor([4.93, -0.93, 1.96]), atol=5e-3, rtol=0)


def test_uniform_on_the_worked_example():
    torch.testing.assert_close(worked("uniform").context[0, 0], torch.tensor([2.0, 2 / 3, 1.0]))


def test_guide_loss_on_the_worked_example():
    truth = torch.tensor([[[0, 0, 0.5, 0.5, 0]]])
    weights = torch.tensor([[[0.1, 0.1, 0.35, 0.35, 0.1]]])
    assert abs(float(guide_total(truth, weights)) - 1.0498) < 5e-5
    unaligned = torch.cat([truth, torch.zeros_like(truth)], 1)
    assert abs(float(guide_total(unaligned, weights.expand(1, 2, 5))) - 1.0498) < 5e-5


def test_guide_loss_is_finite_where_nothing_was_looked_at():
    weights = torch.zeros(1, 1, 3, requires_grad=True)
    loss = guide_total(torch.tensor([[[1.0, 0, 0]]]), weights)
    loss.backward()
    assert torch.isfinite(loss) and torch.isfinite(weights.grad).all()


@pytest.mark.parametrize("name", ["additive", "dot", "scaled-dot", "general", "linear", "perceptron"])
def test_scores_by_their_formulas(name):
    torch.manual_seed(0)
    values, query = torch.randn(2, 4, 3), torch.randn(2, 5, 3)
    memory = Memory(values, torch.ones(2, 4, dtype=torch.bool), values.mean(1))
    attention = Attention(3, 3, score=name)
    scores = attention(query, memory).scores
    parameters = dict(attention.score.named_parameters())
    for b, t, s in [(0, 0, 0), (1, 4, 3), (0, 2, 1)]:
        q, h = query[b, t], values[b, s]
        expected = {
            "additive": lambda q=q, h=h: (
                parameters["vector"]
                @ torch.tanh(parameters["query.weight"] @ q + parameters["key.weight"] @ h)
            ),
            "dot": lambda q=q, h=h: q @ h,
            "scaled-dot": lambda q=q, h=h: q @ h / math.sqrt(3),
            "general": lambda q=q, h=h: q @ parameters["key.weight"] @ h,
            "linear": lambda q=q, h=h: parameters["vector"] @ torch.cat([q, h]),
            "perceptron": lambda q=q, h=h: (
                torch.tanh(parameters["query.weight"] @ q + parameters["query.bias"])
                @ torch.tanh(parameters["key.weight"] @ h + parameters["key.bias"])
            ),
        }[name]()
        torch.testing.assert_close(scores[b, t, s], expected)


@pytest.mark.parametrize(
    "selection", [Uniform(), Softmax(), Sigmoid(), Segmental(), Local(3), Local(window=2, center="monotonic")]
)
def test_masked_positions_get_nothing_and_an_empty_row_is_zero(selection):
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 4, requires_grad=True)
    mask = torch.tensor([[True, False, True, False], [False] * 4])
    weights = selection(scores, mask, Given(query=torch.randn(2, 3, 3)))
    assert bool((weights[0][:, [1, 3]] == 0).all()) and bool((weights[1] == 0).all())
    assert bool((weights[0][:, 0] > 0).all())
    if weights.requires_grad:
        (weights**2).sum().backward()
        assert scores.grad is None or bool(torch.isfinite(scores.grad).all())


def test_infinite_scores_are_not_nan():
    scores = torch.tensor([[[-math.inf, 0.0, 1.0]]])
    weights = Softmax()(scores, torch.ones(1, 3, dtype=torch.bool))
    assert weights[0, 0, 0] == 0 and abs(float(weights.sum()) - 1) < 1e-6


def test_local_is_a_softmax_times_a_gaussian_around_the_predicted_centre():
    torch.manual_seed(1)
    local, scores, query = Local(3, window=2), torch.randn(1, 1, 9), torch.randn(1, 1, 3)
    mask = torch.arange(9)[None] < 8
    weights = local(scores, mask, Given(query=query))[0, 0]
    centre = float((8 * torch.sigmoid(local.center(torch.tanh(local.hidden(query))))).detach())
    near = [s for s in range(8) if abs(s - centre) <= 2]
    total = sum(math.exp(float(scores[0, 0, s])) for s in near)
    for s in range(9):
        expected = 0.0
        if s in near:
            expected = math.exp(float(scores[0, 0, s])) / total * math.exp(-((s - centre) ** 2) / 2)
        assert abs(float(weights[s].detach()) - expected) < 1e-6


def test_monotonic_local_follows_the_output():
    selection = Local(window=1, center="monotonic")
    mask = torch.ones(1, 5, dtype=torch.bool)
    weights = selection(torch.zeros(1, 7, 5), mask)
    assert (weights[0, 2] > 0).tolist() == [False, True, True, True, False]
    assert (weights[0, 6] > 0).tolist() == [False, False, False, True, True]
    torch.testing.assert_close(
        selection(torch.zeros(1, 2, 5), mask, Given(step=2)), weights[:, 2:3].expand(1, 2, 5)
    )
