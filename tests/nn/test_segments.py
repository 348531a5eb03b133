"""Segmental attention against enumeration and numbers computed by hand."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from regard.errors import RegardError
from regard.nn import Attention, Memory
from regard.nn.selections import Segmental, Sigmoid, make_selection
from regard.nn.selections.rescaling import rescale

TRANSITIONS = torch.tensor([[0.5, -1.0], [-0.3, 1.2]])


def enumerated(scores, transitions, lengths):
    """p(z_s = 1) of one chain, by enumerating all 2^n labelings."""
    total, inside = 0.0, [0.0] * len(scores)
    for labels in itertools.product((0, 1), repeat=lengths):
        log = sum(float(e) for e, z in zip(scores, labels, strict=False) if z)
        log += sum(float(transitions[a, b]) for a, b in itertools.pairwise(labels))
        total += math.exp(log)
        for place, label in enumerate(labels):
            inside[place] += math.exp(log) * label
    return [value / total for value in inside]


def segments(transitions=TRANSITIONS, **options):
    selection = Segmental(**options)
    with torch.no_grad():
        selection.transitions.copy_(transitions)
    return selection


def test_weights_are_the_marginals_of_all_labellings():
    torch.manual_seed(0)
    scores = torch.randn(2, 3, 5)
    mask = torch.arange(5) < torch.tensor([[5], [3]])
    weights = segments()(scores, mask)
    for row, length in ((0, 5), (1, 3)):
        for query in range(3):
            expected = enumerated(scores[row, query], TRANSITIONS, length)
            torch.testing.assert_close(weights[row, query], torch.tensor(expected), atol=1e-5, rtol=1e-5)


def test_a_missing_place_in_the_middle_is_outside_and_the_chain_goes_through_it():
    scores = torch.tensor([[[0.4, 9.0, -0.2, 5.0]]])
    weights = segments()(scores, torch.tensor([[True, False, True, False]]))
    expected = enumerated([0.4, -1e9, -0.2], TRANSITIONS, 3)
    torch.testing.assert_close(weights[0, 0], torch.tensor([*expected, 0.0]), atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("positions", [1, 4])
def test_without_pairwise_scores_it_is_the_sigmoid(positions):
    torch.manual_seed(1)
    scores, mask = torch.randn(2, 2, positions), torch.ones(2, positions, dtype=torch.bool)
    torch.testing.assert_close(make_selection("segments", 3)(scores, mask), torch.sigmoid(scores))


def test_gradients_reach_the_scores_and_the_pairwise_parameters():
    torch.manual_seed(2)
    selection = segments().double()
    scores = torch.randn(2, 2, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(4) < torch.tensor([[4], [2]])

    def read(e, b):
        return selection.reading(torch.func.functional_call(selection, {"transitions": b}, (e, mask)))

    assert torch.autograd.gradcheck(read, (scores, selection.transitions))


def test_the_context_is_divided_by_gamma():
    # p = (0.5, 0.5, 0.75): γ = 1.75 / 2, so the context is weighted by p · 2 / 1.75
    values = torch.tensor([[[1.0, 0], [0, 2], [4, 4]]])
    memory = Memory(values, torch.ones(1, 3, dtype=torch.bool), values.mean(1))
    attention = Attention(1, 2, score="linear", select=Sigmoid())
    plain = Attention(1, 2, score="linear", select=Sigmoid(normalize=0))
    query = torch.zeros(1, 1, 1)
    for one in (attention, plain):
        torch.nn.init.zeros_(one.score.vector)
    scores = torch.tensor([[[0.0, 0.0, math.log(3)]]])
    for one, expected in ((attention, [4 / 1.75 * 1.75, 4.571429]), (plain, [3.5, 4.0])):
        one.score.forward = lambda q, k, previous: scores
        look = one(query, memory)
        torch.testing.assert_close(look.weights[0, 0], torch.tensor([0.5, 0.5, 0.75]))
        torch.testing.assert_close(look.context[0, 0], torch.tensor(expected))


def test_rescaling_by_hand_at_zero_and_in_its_gradient():
    torch.testing.assert_close(rescale(torch.tensor([1.0, 3.0]), 2.0), torch.tensor([0.5, 1.5]))
    weights = torch.zeros(2, 3, requires_grad=True)
    rescale(weights, 2.0).sum().backward()
    assert bool((rescale(weights, 2.0) == 0).all()) and bool(torch.isfinite(weights.grad).all())
    positive = torch.rand(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda w: rescale(w, 2.0), positive)


def test_penalty_and_the_structure_behind_the_weights():
    selection = segments()
    assert selection.penalty().item() == pytest.approx(0.005 * (0.25 + 1 + 0.09 + 1.44))
    scores, mask = torch.tensor([[[2.0, -0.5, 1.5, -4.0]]]), torch.ones(1, 4, dtype=torch.bool)
    structure = selection.structure(scores, mask)
    labellings = list(itertools.product((0, 1), repeat=4))
    best = max(
        labellings,
        key=lambda z: (
            sum(float(e) * v for e, v in zip(scores[0, 0], z, strict=True))
            + sum(float(TRANSITIONS[a, b]) for a, b in itertools.pairwise(z))
        ),
    )
    assert structure.mode[0, 0].tolist() == list(best)
    samples = structure.sample((4000,), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(samples.mean(0), selection(scores, mask).detach(), atol=0.03, rtol=0)


def test_a_negative_weight_is_refused():
    with pytest.raises(RegardError, match="at least 0"):
        Segmental(decay=-1.0)
    with pytest.raises(RegardError, match="normalize must be at least 0"):
        Sigmoid(normalize=-1.0)
