"""The fast paths on the CPU against the plain ones that they replace."""

from __future__ import annotations

import random
from functools import partial

import numpy as np
import pytest
import torch

from regard.fast import recurrence
from regard.fast.cpu.choices import choose, choose_back
from regard.fast.cpu.cost import PackedCost
from regard.fast.cpu.layout import GRU, SEGMENTS, Choice
from regard.fast.cpu.recurrence import PackedRecurrence
from regard.fast.paths import fused
from regard.fast.paths.encoder_cpu import LayerOnCPU
from regard.nn import GRUCell, LSTMCell, RNNCell
from regard.nn.packing import Packing, shifted
from regard.nn.recurrence import RecurrentLayer
from regard.nn.selections import Segmental
from regard.structures.kernels.cpu.compilation import kernel
from regard.structures.kernels.cpu.segments import room_back_for, room_for

from .conftest import SOURCE, TARGET, VOCABULARY, model, tokens

pytestmark = pytest.mark.thinned(5)

TOLERANCES = [(torch.float64, 1e-10), (torch.float32, 1e-5)]


def gradients(total, modules):
    parameters = [parameter for module in modules for parameter in module.parameters()]
    return torch.autograd.grad(total, parameters, allow_unused=True)


def close(first, second, tolerance):
    for one, other in zip(first, second, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            scale = max(1.0, float(other.detach().abs().max()) if other.numel() else 0.0)
            torch.testing.assert_close(one / scale, other / scale, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"state": "current"},
        {"deep": True},
        {"deep": True, "state": "current"},
        {"cell": GRUCell.Options(update="cho")},
        {"cell": GRUCell.Options(update="cho"), "state": "current"},
        {"condition": ("attention",)},
        {"condition": ("every-step", "attention")},
        {"condition": ("start", "every-step", "attention"), "state": "current"},
        {"tied": True, "state": "current"},
        {"score": "general"},
        {"score": "general", "state": "current"},
        {"select": "sigmoid", "state": "current"},
        {"select": "segments"},
        {"select": "segments", "score": "general", "state": "current"},
        {"select": "hard"},
        {"select": "hard", "state": "current"},
        {"select": "hard", "score": "general", "drawing": (True, True, True)},
        {"select": "hard", "deep": True, "drawing": (True, False, True)},
        {"select": "hard", "state": "current", "drawing": (False, True, True)},
        {"select": "hard", "state": "current", "feed": False, "drawing": (True, False, True)},
        {"state": "current", "feed": False},
        {"state": "current", "feed": False, "deep": True, "condition": ("every-step", "attention")},
        {"cell": "lstm", "deep": True, "condition": ("every-step", "attention"), "layers": 3},
        {"cell": "lstm", "tied": True, "state": "current", "residual": True, "layers": 3},
        {"cell": "lstm", "state": "current", "feed": False, "layers": 2},
        {"cell": GRUCell.Options(update="cho"), "residual": True, "layers": 2},
        *({"cell": RNNCell.Options(activation=one), "layers": 2} for one in ("sigmoid", "relu", "identity")),
    ],
    ids=str,
)
@pytest.mark.parametrize(("dtype", "tolerance"), TOLERANCES)
def test_attentive_decoder_equals_the_plain_one(options, dtype, tolerance):
    drawing = torch.tensor(options["drawing"]) if "drawing" in options else None
    encoder, decoder = model(dtype=dtype, **{key: options[key] for key in options if key != "drawing"})
    assert_equals_the_plain_one(encoder, decoder, drawing, tolerance)


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize("score", ["additive", "dot", "scaled-dot", "general", "linear", "location"])
@pytest.mark.parametrize(("dtype", "tolerance"), TOLERANCES)
def test_every_cell_score_and_selection_equals_the_plain_one(cell, score, dtype, tolerance):
    for select in ("softmax", "sigmoid", "segments", "hard"):
        for state in ("previous", "current"):
            for layers in (1, 2):
                encoder, decoder = model(
                    dtype=dtype, size=8, cell=cell, score=score, select=select, state=state, layers=layers
                )
                drawing = torch.tensor([True, False, True]) if select == "hard" else None
                assert_equals_the_plain_one(encoder, decoder, drawing, tolerance)


@pytest.mark.parametrize("seed", range(12))
def test_random_shapes_equal_the_plain_ones(seed):
    """Sizes, lengths and batches of any remainder, down to one: tails of vectors and of blocks."""
    draw = random.Random(seed)

    def texts(count):
        return tokens(
            *([draw.randrange(4, VOCABULARY) for _ in range(draw.randint(1, 21))] for _ in range(count))
        )

    rows = draw.choice([1, 2, 3, 5, 9, 17])
    options = {
        "size": draw.randint(1, 37),
        "embedding": draw.randint(1, 19),
        "cell": draw.choice(["gru", "lstm", "rnn"]),
        "score": draw.choice(["additive", "general", "location"]),
        "select": draw.choice(["softmax", "sigmoid", "segments"]),
        "state": draw.choice(["previous", "current"]),
        "layers": draw.randint(1, 2),
    }
    for dtype, tolerance in (
        (torch.float64, 1e-9),
        (torch.float32, 1e-3),
    ):  # long recurrences amplify rounding
        encoder, decoder = model(seed=seed, dtype=dtype, **options)
        source, target = texts(rows), texts(rows)
        assert_equals_the_plain_one(encoder, decoder, None, tolerance, source=source, target=target)


def assert_equals_the_plain_one(encoder, decoder, drawing, tolerance, *, source=SOURCE, target=TARGET):
    """In readouts, attention and every gradient."""
    assert recurrence.knows_decoder(decoder, {"source": encoder(source)})
    previous, _, lengths = shifted(target)
    packing = Packing.of(lengths, previous.shape[1])
    torch.manual_seed(1)
    results = []
    for unroll in (decoder.unroll, decoder.unroll_plain):
        torch.manual_seed(1)
        found = unroll({"source": encoder(source)}, previous, packing, drawing=drawing)
        weights = found.looks["source"]
        total = (found.readouts * torch.randn_like(found.readouts)).sum()
        total = total + (weights * torch.randn_like(weights)).sum()
        results.append((found, gradients(total, (encoder, decoder))))
    close([results[0][0].readouts], [results[1][0].readouts], tolerance)
    close([results[0][0].looks["source"]], [results[1][0].looks["source"]], tolerance)
    drawn = [list(found.drawn.values()) for found, _ in results]
    assert len(drawn[0]) == (drawing is not None)
    close(*drawn, tolerance)
    close(results[0][1], results[1][1], tolerance)


def test_two_runs_are_bit_equal():
    encoder, decoder = model(cell="lstm", layers=2, score="location", state="current")
    previous, _, lengths = shifted(TARGET)
    packing, runs = Packing.of(lengths, previous.shape[1]), []
    for _ in range(2):
        found = decoder.unroll({"source": encoder(SOURCE)}, previous, packing)
        runs.append([found.readouts, *gradients(found.readouts.square().sum(), (encoder, decoder))])
    for one, other in zip(*runs, strict=True):
        assert one is other is None or torch.equal(one, other)


class Given(torch.nn.Module):
    """Dropout between two layers with known masks (T, B, 1, H), one for each call."""

    def __init__(self, masks):
        super().__init__()
        self.p, self.masks = 0.5, iter(masks)

    def forward(self, inputs):
        return inputs * next(self.masks)


def test_dropped_words_are_those_of_the_plain_one():
    """One seed, one mask: a model trains alike with and without the fast paths."""
    encoder, decoder = model(dtype=torch.float64)
    previous, _, lengths = shifted(TARGET)
    packing, memories, results = Packing.of(lengths, previous.shape[1]), {"source": encoder(SOURCE)}, []
    assert len(set(lengths.tolist())) > 1
    decoder.train()
    decoder.embedding.dropout.p = 0.5
    for unroll in (decoder.unroll, decoder.unroll_plain):
        torch.manual_seed(3)
        found = unroll(memories, previous, packing)
        results.append([found.readouts, *gradients(found.readouts.square().sum(), (decoder,))])
    close(*results, 1e-10)


@pytest.mark.parametrize("residual", [False, True])
def test_dropout_between_the_layers_equals_the_plain_one(residual):
    encoder, decoder = model(cell="lstm", layers=2, state="current", residual=residual, dtype=torch.float64)
    previous, _, lengths = shifted(TARGET)
    packing, memories, results = Packing.of(lengths, previous.shape[1]), {"source": encoder(SOURCE)}, []
    decoder.train()
    decoder.stack.dropout.p = 0.5
    torch.manual_seed(3)
    masks = fused.masks_of(decoder, packing.starts[-1])
    assert set(masks.unique().tolist()) == {0.0, 2.0}
    for plain in (False, True):
        torch.manual_seed(3)
        if plain:
            decoder.stack.dropout = Given(packing.unpack(masks[0]).transpose(0, 1).unsqueeze(2))
        found = (decoder.unroll_plain if plain else decoder.unroll)(memories, previous, packing)
        results.append([found.readouts, *gradients(found.readouts.square().sum(), (decoder,))])
    close(*results, 1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"state": "current"},
        {"state": "current", "feed": False},
        {"cell": "lstm", "layers": 2},
        {"cell": "lstm", "layers": 2, "residual": True, "state": "current", "score": "location"},
        {"cell": "rnn", "score": "linear"},
        {"score": "scaled-dot", "size": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize("select", ["softmax", "hard", "segments"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
def test_a_step_of_a_search_equals_the_plain_one(select, options, dtype, tolerance):
    encoder, decoder = model(dtype=dtype, select=select, **options)
    memories, words = {"source": encoder(SOURCE)}, torch.tensor([[4], [5], [6]])
    steps = []
    for gradient in (False, True):
        with torch.set_grad_enabled(gradient):
            state = decoder.start(memories)
            assert (state.constants.prepared is None) == gradient
            step = decoder.step(words, state, memories)
            steps.append(decoder.step(words + 1, step.state, memories))
    close([steps[0].logits, steps[0].looks["source"]], [steps[1].logits, steps[1].looks["source"]], tolerance)


@pytest.mark.parametrize(
    "cell",
    [
        GRUCell.Options(),
        GRUCell.Options(update="cho"),
        LSTMCell.Options(),
        *(RNNCell.Options(activation=one) for one in ("tanh", "relu", "sigmoid", "identity")),
    ],
    ids=str,
)
@pytest.mark.parametrize("bidirectional", [True, False])
def test_a_layer_equals_torch_and_the_cell(cell, bidirectional):
    torch.manual_seed(0)
    layer = RecurrentLayer(5, 4, cell=cell, bidirectional=bidirectional).double()
    torch.nn.init.normal_(layer.first)
    lengths = torch.tensor([3, 7, 5, 1])
    packing = Packing.of(lengths, 7)
    inputs = packing.pack(torch.randn(4, 7, 5, dtype=torch.float64))
    results = []
    by_torch = layer.by_cells if layer.cell(0).torch_recurrence() is None else layer.by_torch
    for run in (partial(LayerOnCPU().run, layer), by_torch, layer.by_cells):
        outputs, last = run(inputs, packing)
        torch.manual_seed(1)
        total = (outputs * torch.randn_like(outputs)).sum() + (last * torch.randn_like(last)).sum()
        results.append([outputs, last, *gradients(total, [layer])])
    close(results[0], results[1], 1e-10)
    close(results[0], results[2], 1e-10)


@pytest.mark.parametrize("directions", [1, 2])
def test_gru_gradcheck(directions):
    torch.manual_seed(0)
    packing = Packing.of(torch.tensor([2, 3]), 3)
    shapes = ((5, directions * 6), (2, directions * 2), (directions, 6, 2), (directions, 6))
    tensors = [torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    assert torch.autograd.gradcheck(lambda *t: PackedRecurrence.apply(*t, packing, GRU), tensors)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_cost_gradcheck_and_torch(smoothing):
    torch.manual_seed(0)
    rows, weight, bias = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((5, 3), (7, 3), (7,))
    )
    targets = torch.tensor([0, 6, 3, 3, 1])
    total, likelihood = PackedCost.apply(rows, weight, bias, targets, smoothing)
    logits = torch.nn.functional.linear(rows, weight, bias)
    expected = torch.nn.functional.cross_entropy(logits, targets, label_smoothing=smoothing, reduction="sum")
    torch.testing.assert_close(total, expected)
    torch.testing.assert_close(
        likelihood, torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    )
    assert torch.autograd.gradcheck(
        lambda r, w, b: PackedCost.apply(r, w, b, targets, smoothing)[0], (rows, weight, bias)
    )


def test_cost_in_several_pieces():
    torch.manual_seed(0)
    rows, weight, bias = torch.randn(1000, 8), torch.randn(50, 8), torch.randn(50)
    parameters = [tensor.requires_grad_() for tensor in (rows, weight, bias)]
    targets = torch.randint(50, (1000,))
    total, _ = PackedCost.apply(*parameters, targets, 0.1)
    logits = torch.nn.functional.linear(rows, weight, bias)
    expected = torch.nn.functional.cross_entropy(logits, targets, label_smoothing=0.1, reduction="sum")
    torch.testing.assert_close(total, expected)
    close(torch.autograd.grad(total * 0.5, parameters), torch.autograd.grad(expected * 0.5, parameters), 2e-4)


@pytest.mark.parametrize("looking", ["previous", "current"])
def test_saturated_energies_stay_exact(looking):
    encoder, decoder = model(dtype=torch.float64, state=looking)
    score = decoder.reading.attention("source").score
    with torch.no_grad():
        score.key.weight *= 80
        score.query.weight *= -40
    previous, _, lengths = shifted(TARGET)
    packing = Packing.of(lengths, previous.shape[1])
    memories = {"source": encoder(SOURCE)}
    assert decoder.start(memories).constants.keys["source"].abs().max() > 20
    results = []
    for unroll in (decoder.unroll, decoder.unroll_plain):
        found = unroll(memories, previous, packing)
        total = found.readouts.square().sum()
        results.append(
            [
                found.readouts,
                *torch.autograd.grad(total, list(decoder.parameters()), allow_unused=True, retain_graph=True),
            ]
        )
    close(*results, 1e-9)


def test_padded_positions_of_a_row_without_words_are_harmless():
    packing = Packing.of(torch.tensor([2, 0, 1]), 3)
    padded = torch.arange(9.0).view(3, 3, 1)
    packed = packing.pack(padded)
    assert packed.flatten().tolist() == [0.0, 6.0, 1.0]
    assert packing.unpack(packed).flatten().tolist() == [0, 1, 0, 0, 0, 0, 6, 0, 0]
    assert packing.rows().tolist() == [0, 2, 0] and packing.before().tolist() == [0]


@kernel
def _choose(energies, exists, choice, pairs, weights):
    return choose(energies, exists, choice, room_for(len(exists), 0.0), pairs, weights, 0)


@kernel
def _choose_back(exists, choice, weights, pairs, received, d_energies, d_between):
    room = room_back_for(len(exists), 0.0)
    choose_back(exists, choice, weights, pairs, 0, received, room, d_energies, d_between, 0)


@pytest.mark.parametrize("exists", [[1, 1, 1, 1, 0], [1, 0, 1, 1, 0], [0, 1, 1, 0, 1], [0, 0, 0, 0, 0]])
def test_segments_of_one_query_equal_the_selection(exists):
    torch.manual_seed(0)
    selection, mask = Segmental().double(), torch.tensor(exists, dtype=torch.bool)
    energies = (3 * torch.randn(5, dtype=torch.float64)).requires_grad_()
    with torch.no_grad():
        selection.transitions.copy_(torch.randn(2, 2))
    weights = selection(energies[None, None], mask[None])
    received = torch.randn(5, dtype=torch.float64)
    expected = torch.autograd.grad((weights[0, 0] * received).sum(), [energies, selection.transitions])
    choice = Choice(SEGMENTS, 2.0, selection.transitions.detach().reshape(1, 4).numpy())
    found, d_energies, d_between = np.zeros((1, 5)), np.zeros((1, 5)), np.zeros((1, 4))
    pairs, given = np.zeros((1, 16)), energies.detach().clone().numpy()[None]
    factor = _choose(given, mask.numpy(), choice, pairs, found)
    _choose_back(mask.numpy(), choice, found, pairs, received.numpy()[None], d_energies, d_between)
    reading = selection.reading(weights)[0, 0].detach().numpy()
    np.testing.assert_allclose(found[0], weights[0, 0].detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(found[0] * factor, reading, atol=1e-12)
    np.testing.assert_allclose(d_energies[0], expected[0].numpy(), atol=1e-12)
    np.testing.assert_allclose(d_between.reshape(2, 2), expected[1].numpy(), atol=1e-12)
