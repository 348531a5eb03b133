"""NaN and infinity reach the loss and the gradients through every kernel where they do in the plain code."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from regard.fast.cpu.cost import PackedCost
from regard.fast.paths.best_cpu import BestOnCPU
from regard.fast.paths.encoder_cpu import LayerOnCPU
from regard.nn import RNNCell
from regard.nn.packing import Packing
from regard.nn.recurrence import RecurrentLayer
from regard.structures import LinearChain, ProjectiveTree, Segmentation, SpanningTree, kernels

pytestmark = pytest.mark.thinned(3)

NOT_FINITE = [math.nan, math.inf, -math.inf]
INPUTS = ["memory.values", "memory.summary"]


def finite(tensor):
    return bool(tensor.isfinite().all())


def answers(case, name, place, value, *, plain):
    """Loss and gradients by name, with `value` inserted at one position of the parameter or input `name`."""
    leaves = dict(case.decoder.named_parameters())
    leaves |= {"memory.values": case.memory.values.clone(), "memory.summary": case.memory.summary.clone()}
    before = leaves[name].detach().clone()
    with torch.no_grad():
        rows = leaves[name].view(leaves[name].shape[0], -1)
        rows[case.previous[0, 0] if name == "embedding.weight" else place, place] = value
    memory = replace(
        case.memory,
        values=leaves["memory.values"].requires_grad_(),
        summary=leaves["memory.summary"].requires_grad_(),
    )
    torch.manual_seed(3)  # for the draws of a hard selection
    loss, _ = replace(case, memory=memory).loss(plain=plain)
    found = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    with torch.no_grad():
        leaves[name].copy_(before)
    return loss.detach(), dict(zip(leaves, found, strict=True))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"state": "current"},
        {"score": "general"},
        {"select": "sigmoid", "state": "current"},
        {"select": "segments"},
        {"select": "hard"},
        {"cell": "lstm", "layers": 2},
        {"cell": RNNCell.Options(activation="relu"), "score": "linear", "state": "current"},
        {"score": "location", "state": "current"},
        {"score": "dot", "size": 8, "residual": True, "layers": 2},
    ],
    ids=str,
)
@pytest.mark.parametrize("value", NOT_FINITE)
def test_a_decoder_hides_nothing(taught, options, value):
    whole = taught(3, full=True, **options)
    names = [*dict(whole.decoder.named_parameters()), *INPUTS]
    if options.get("select") == "hard":
        names.remove("memory.values")  # one position is read; the plain code multiplies others by 0
    exactly = options.get("select") in (None, "segments")
    for name in names:
        for place in (0, -1):
            fast_loss, fast = answers(whole, name, place, value, plain=False)
            loss, plain = answers(whole, name, place, value, plain=True)
            case = f"{name}[{place}] = {value}: {fast_loss} and {loss}"
            assert finite(loss) or not finite(fast_loss), case
            if math.isnan(value):
                assert not finite(fast_loss) and not finite(loss), case
            for other, gradient in plain.items():
                if gradient is None or fast[other] is None:
                    continue
                assert finite(gradient) or not finite(fast[other]), f"{case}, gradient of {other}"
                if exactly and math.isnan(value):
                    assert torch.equal(fast[other].isfinite(), gradient.isfinite()), f"{case}, {other}"


@pytest.mark.parametrize("value", NOT_FINITE)
@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_layer_hides_nothing(value, bidirectional, cell):
    packing = Packing.of(torch.tensor([3, 5, 4]), 5)
    names = ["inputs", *dict(RecurrentLayer(5, 4, bidirectional=bidirectional).named_parameters())]
    for name in names:
        results = []
        for way in (LayerOnCPU().run, RecurrentLayer.by_cells):
            torch.manual_seed(0)
            layer = RecurrentLayer(5, 4, cell=cell, bidirectional=bidirectional)
            inputs = packing.pack(torch.randn(3, 5, 5))
            poisoned = inputs if name == "inputs" else dict(layer.named_parameters())[name].data
            poisoned.view(poisoned.shape[0], -1)[0, 0] = value
            outputs, last = way(layer, inputs.requires_grad_(), packing)
            found = torch.autograd.grad(outputs.sum() + last.sum(), [inputs, *layer.parameters()])
            results.append([outputs, last, *found])
        for fast, plain in zip(*results, strict=True):
            assert finite(plain) or not finite(fast), f"{name} = {value}"
            if math.isnan(value):
                assert torch.equal(fast.isfinite(), plain.isfinite()), name


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("value", NOT_FINITE)
def test_the_cost_hides_nothing(value, smoothing):
    for name in ("rows", "weight", "bias"):
        torch.manual_seed(0)
        leaves = {"rows": torch.randn(5, 3), "weight": torch.randn(7, 3), "bias": torch.randn(7)}
        leaves[name].view(leaves[name].shape[0], -1)[2, 0] = value
        for leaf in leaves.values():
            leaf.requires_grad_()
        targets = torch.tensor([0, 6, 3, 3, 1])
        cost, likelihood = PackedCost.apply(*leaves.values(), targets, smoothing)
        logits = torch.nn.functional.linear(*leaves.values())
        expected = torch.nn.functional.cross_entropy(
            logits, targets, label_smoothing=smoothing, reduction="sum"
        )
        assert finite(cost) == finite(expected), f"{name}: {cost} and {expected}"
        assert finite(likelihood) == finite(
            torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        )
        fast = torch.autograd.grad(cost, list(leaves.values()))
        plain = torch.autograd.grad(expected, list(leaves.values()))
        for mine, theirs in zip(fast, plain, strict=True):
            assert finite(theirs) or not finite(mine), name


@pytest.mark.parametrize("value", NOT_FINITE)
def test_normalizers_and_ranks_of_a_search(value):
    torch.manual_seed(0)
    logits = torch.randn(3, 70)
    logits[1, 40] = value
    logits[2] = -math.inf
    normalizers, best, _ = BestOnCPU().run(logits, 4, None, 0, None)
    torch.testing.assert_close(normalizers, logits.logsumexp(-1), equal_nan=True)
    torch.testing.assert_close(best, logits.topk(4).values, equal_nan=True)


def chain(C, place, value, backend):
    edges, start = torch.randn(3, 5, C, C), torch.randn(3, C)
    (start if place is None else edges)[(1, 1) if place is None else (1, *place)] = value
    edges.requires_grad_()
    return edges, LinearChain(edges, start=start, backend=backend)


def segments(place, value, backend):
    scores, transitions = torch.randn(3, 6), torch.randn(2, 2)
    if place is None:
        transitions[0, 1] = value
    else:
        scores[1, place] = value
    scores.requires_grad_()
    return scores, Segmentation(scores, transitions, backend=backend)


def trees(kind, single_root, place, value, backend):
    arcs = torch.randn(3, 6, 6)
    arcs[(1, *place)] = value
    arcs.requires_grad_()
    return arcs, kind(arcs, single_root, backend=backend)


CASES = {
    **{
        f"chain of {C}, {place}": (chain, C, place)
        for C in (2, 3)
        for place in (None, (0, 1, 1), (2, 0, 1), (4, 0, 0))
    },
    **{f"segments, {place}": (segments, place) for place in (None, 0, 3, 5)},
    **{
        f"{kind.__name__}, {single_root}, {place}": (trees, kind, single_root, place)
        for kind in (ProjectiveTree, SpanningTree)
        for single_root in (True, False)
        for place in ((0, 2), (2, 4), (5, 1))
    },
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_structures_hide_nothing(case, value):
    make, *arguments = CASES[case]
    poisoned = [0, 1, 2] if case == "segments, None" else [1]
    expected = torch.ones(3, dtype=torch.bool)
    expected[poisoned] = False
    for backend in ("auto", "reference"):
        torch.manual_seed(0)
        potential, structure = make(*arguments, value, backend)
        weights = torch.randn_like(structure.marginals)
        found = {
            "log-partition": structure.log_partition,
            "marginals": structure.marginals,
            "gradient of the log-partition": torch.autograd.grad(
                structure.log_partition.sum(), potential, retain_graph=True
            )[0],
            "gradient of the marginals": torch.autograd.grad(
                (structure.marginals * weights).sum(), potential
            )[0],
        }
        for name, tensor in found.items():
            rows = tensor.isfinite().reshape(3, -1).all(1)
            assert torch.equal(rows, expected), f"{backend}: {name} is finite in rows {rows.tolist()}"


def test_the_best_of_what_is_not_a_number_is_none():
    torch.manual_seed(0)
    edges, arcs = torch.randn(2, 4, 3, 3), torch.randn(2, 5, 5)
    edges[1, 2, 0, 0] = arcs[1, 2, 3] = math.nan
    for scores, path in (kernels.chain_mode(None, edges, None), kernels.projective_mode(arcs, None, True)):
        assert scores.isfinite().tolist() == [True, False]
        assert (path[1] == -1).all() and (path[0] >= 0).any()
    assert SpanningTree(arcs).mode_score.isfinite().tolist() == [True, False]


def test_impossible_parts_stay_impossible():
    torch.manual_seed(0)
    scores, transitions = torch.randn(2, 6), torch.randn(2, 2)
    scores[1, 2] = -math.inf
    inside = kernels.segment_marginals(scores, transitions.expand(2, 2, 2), None)
    assert finite(inside) and inside[1, 2] == 0
    edges = torch.randn(2, 4, 3, 3)
    edges[1, 2, :, 1] = -math.inf
    states, joints = kernels.chain_marginals(None, edges, None)
    assert finite(joints) and finite(states) and (joints[1, 2, :, 1] == 0).all()
