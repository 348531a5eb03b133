"""The recurrence with attention must equal the plain path in every output and gradient.

`test_recurrence_cuda.py` runs this file in a separate process: on a GPU as is, elsewhere with
TRITON_INTERPRET=1.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

from regard.data.batch import Batch, Tokens
from regard.fast import recurrence_cuda
from regard.fast.allowed import Obeyed, allow
from regard.fast.cuda import additive, beams, best, cost, descent, reads
from regard.fast.paths import graphed, recorded_loss, recorded_network
from regard.fast.paths import recorded_encoder as recorded_reading
from regard.fast.paths.look import look
from regard.fast.paths.reads import Reads
from regard.nn import Attention, Embedding, GRUCell, RecurrentDecoder, RecurrentEncoder, RNNCell
from regard.nn.cells import make_cell
from regard.nn.constraints.table import ConstraintTable
from regard.nn.decoders.output import TextObjective
from regard.nn.memory import Memory
from regard.nn.network import Network
from regard.nn.packing import BucketPacking, Packing, shifted
from regard.nn.recurrence import RecurrentLayer, run_cells
from regard.nn.search import Beam
from regard.nn.search.banks import with_missing
from regard.nn.search.hypotheses import BackPointers, Finished, Unfinished
from regard.nn.search.stepper import Bounds
from tests.quick_interpreter import exchange_once

exchange_once()
torch.backends.cudnn.allow_tf32 = False
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCABULARY = 11


def tokens(*rows: list[int]) -> Tokens:
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return Tokens(ids, torch.tensor([len(row) for row in rows])).to(DEVICE)


SOURCE = tokens([4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4])
OTHER = tokens([4, 5, 6], [9], [10, 6])
TARGET = tokens([5, 6], [7, 8, 9, 10], [4])


def model(*, score="additive", select="softmax", memories=1, dtype=torch.float64, size=8, **options):
    torch.manual_seed(0)
    names = ["source", "other"][:memories]
    encoders = {name: RecurrentEncoder(Embedding(VOCABULARY, 5), size=4) for name in names}
    attention = {name: Attention(size, 8, score=score, select=select) for name in names}
    decoder = RecurrentDecoder(Embedding(VOCABULARY, 5), encoders, size=size, attention=attention, **options)
    whole = torch.nn.ModuleDict({**encoders, "decoder": decoder}).to(DEVICE, dtype)
    for parameter in whole.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    return whole


def remember(whole):
    inputs = {"source": SOURCE, "other": OTHER}
    found = {name: whole[name](inputs[name]) for name in whole if name != "decoder"}
    if whole["decoder"].copying is not None:  # words are represented by their ids here
        found["source"] = replace(found["source"], verbatim=inputs["source"].ids)
    return found


def through(unroll, whole):
    """Readouts, attention weights, and all gradients of a random weighted sum of them."""
    memories = remember(whole)
    previous, _, lengths = shifted(TARGET)
    packing = Packing.of(lengths, previous.shape[1])
    found = unroll(memories, previous, packing)
    outcomes = [found.readouts, *found.looks.values(), *([] if found.gates is None else [found.gates])]
    torch.manual_seed(1)
    drawn = [torch.randn(part.shape, dtype=torch.float64).to(part) for part in outcomes]
    total = sum((part * factor).sum() for part, factor in zip(outcomes, drawn, strict=True))
    return outcomes, total


def gradients(total, whole):
    return torch.autograd.grad(total, list(whole.parameters()), allow_unused=True)


def close(first, second, tolerance):
    for one, other in zip(first, second, strict=True):
        one = torch.zeros_like(other) if one is None and other is not None else one
        other = torch.zeros_like(one) if other is None and one is not None else other
        if one is not None:
            torch.testing.assert_close(one, other, atol=tolerance, rtol=tolerance)


def named(options):
    return ("quick " if CASES.index(options) in QUICK else "") + str(options)


CASES = [
    {},
    {"state": "current"},
    {"deep": True},
    {"deep": True, "state": "current"},
    {"cell": GRUCell.Options(update="cho")},
    {"cell": GRUCell.Options(update="cho"), "layers": 2, "state": "current"},
    {"condition": ("every-step", "attention")},
    {"condition": ("start", "every-step", "attention"), "state": "current"},
    {"tied": True, "state": "current"},
    {"cell": "lstm"},
    {"cell": "lstm", "state": "current"},
    {"cell": "lstm", "layers": 2, "deep": True},
    {"cell": "rnn"},
    {"cell": RNNCell.Options(activation="relu"), "layers": 2, "state": "current"},
    {"cell": RNNCell.Options(activation="sigmoid")},
    {"cell": RNNCell.Options(activation="identity")},
    {"layers": 3},
    {"layers": 2, "state": "current"},
    {"score": "dot"},
    {"score": "scaled-dot", "state": "current"},
    {"score": "general", "cell": "lstm", "layers": 2},
    {"select": "sigmoid"},
    {"select": "sigmoid", "score": "dot", "state": "current"},
    {"select": "segments"},
    {"select": "segments", "cell": "lstm", "state": "current"},
    {"memories": 2},
    {"memories": 2, "state": "current", "cell": "lstm"},
    {"memories": 2, "score": "dot", "layers": 2},
    {"cell": "lstm", "copies": ("source", list("abcdefg"))},
]


QUICK = (3, 5, 7, 11, 13, 19, 20, 24, 26, 28)
"""Every option once, because the interpreter takes seconds for each case."""


@pytest.mark.parametrize("options", CASES, ids=lambda options: named(options))
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["double", "single"]
)
def test_equals_the_plain_path(options, dtype, tolerance):
    if dtype == torch.float32 and DEVICE == "cpu" and options:
        pytest.skip("the interpreter computes both alike")
    whole = model(dtype=dtype, **options)
    decoder = whole["decoder"]
    assert not graphed.lacks(decoder, remember(whole))
    if DEVICE == "cuda":
        assert graphed.knows(decoder, remember(whole))
    reference = copy.deepcopy(whole).double()
    expected, total = through(reference["decoder"].unroll_plain, reference)
    wanted = gradients(total, reference)
    for _ in range(3 if DEVICE == "cuda" else 1):  # plain run, recording, replay
        found, total = through(lambda *given: graphed.unroll(decoder, *given), whole)
        got = gradients(total, whole)
        close([part.double() for part in found], expected, tolerance)
        scale = max(1.0, max(float(part.abs().max()) for part in wanted if part is not None))
        close(
            [None if part is None else part.double() / scale for part in got],
            [None if part is None else part / scale for part in wanted],
            tolerance,
        )


def test_dropout_between_layers_goes_both_ways(monkeypatch):
    """Both paths use one mask for all steps: a dropout that draws nothing."""
    whole = model(layers=2, dropout=0.5, cell="gru")
    decoder = whole["decoder"]
    mask = torch.tensor([0.0, 2.0], device=DEVICE, dtype=torch.float64).repeat(4)
    decoder.stack.dropout.forward = lambda rows: rows * mask
    monkeypatch.setattr(torch.Tensor, "bernoulli_", lambda self, *_: self.copy_((mask / 2).expand_as(self)))
    expected, total = through(decoder.unroll_plain, whole)
    wanted = gradients(total, whole)
    found, total = through(lambda *given: graphed.unroll(decoder, *given), whole)
    close(found, expected, 1e-9)
    close(gradients(total, whole), wanted, 1e-8)


def test_two_forward_passes_before_a_backward_one():
    """Both share one workspace, so the first pass is computed again."""
    whole = model()
    decoder = whole["decoder"]
    _, first = through(lambda *given: graphed.unroll(decoder, *given), whole)
    wanted = gradients(first, whole)
    _, first = through(lambda *given: graphed.unroll(decoder, *given), whole)
    through(lambda *given: graphed.unroll(decoder, *given), model(cell="lstm"))
    close(gradients(first, whole), wanted, 1e-12)


def test_a_second_backward_pass():
    whole = model(state="current")
    _, total = through(lambda *given: graphed.unroll(whole["decoder"], *given), whole)
    parameters = list(whole.parameters())
    first = torch.autograd.grad(total, parameters, retain_graph=True, allow_unused=True)
    close(torch.autograd.grad(total, parameters, allow_unused=True), first, 1e-12)


@pytest.mark.parametrize("looking", ["previous", "current"])
def test_a_planted_nan_arrives_and_leaves_nothing_behind(looking):
    whole = model(state=looking)
    expected, total = through(lambda *given: graphed.unroll(whole["decoder"], *given), whole)
    wanted = gradients(total, whole)
    bad = copy.deepcopy(whole)
    with torch.no_grad():
        bad["decoder"].embedding.weight[9] = torch.nan
    found, total = through(lambda *given: graphed.unroll(bad["decoder"], *given), bad)
    assert total.isnan()
    gradients(total, bad)
    found, total = through(lambda *given: graphed.unroll(whole["decoder"], *given), whole)
    close(found, expected, 1e-12)
    close(gradients(total, whole), wanted, 1e-12)


def test_without_a_gradient():
    whole = model()
    with torch.no_grad():
        expected, _ = through(whole["decoder"].unroll_plain, whole)
        found, _ = through(lambda *given: graphed.unroll(whole["decoder"], *given), whole)
    close(found, expected, 1e-9)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 2e-5)])
def test_cost_in_chunks(monkeypatch, smoothing, dtype, tolerance):
    monkeypatch.setattr(cost, "NUMBERS", 7 * 13)
    torch.manual_seed(0)
    given = [torch.randn(17, 5), torch.randn(13, 5), torch.randn(13)]
    rows, weight, bias = (part.to(DEVICE, dtype).requires_grad_() for part in given)
    targets = torch.randint(0, 13, (17,), device=DEVICE)
    total, likelihood = cost.ChunkedCost.apply(rows, weight, bias, targets, smoothing)
    logits = torch.nn.functional.linear(rows, weight, bias)
    expected = torch.nn.functional.cross_entropy(logits, targets, reduction="sum", label_smoothing=smoothing)
    plain = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
    close([total, likelihood], [expected, plain], tolerance)
    wanted = torch.autograd.grad(3 * expected, (rows, weight, bias))
    close(torch.autograd.grad(3 * total, (rows, weight, bias)), wanted, tolerance)


@pytest.mark.parametrize("buckets", [False, True], ids=["one-batch", "buckets"])
@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_a_layer_over_whole_sequences(cell, bidirectional, buckets):
    if DEVICE == "cpu" and buckets and cell != "gru":
        pytest.skip("in the interpreter one cell reads buckets")
    torch.manual_seed(0)
    layer = RecurrentLayer(5, 4, cell=cell, bidirectional=bidirectional).to(DEVICE, torch.float64)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.6)
    packing = BucketPacking.over([OTHER, SOURCE]) if buckets else Packing.of(SOURCE.lengths, 6)
    inputs = torch.randn(packing.starts[-1], 5, dtype=torch.float64).to(DEVICE).requires_grad_()
    results = []
    for run in (layer.by_torch, *[lambda *given: recurrence_cuda.run(layer.each(), layer.first, *given)] * 3):
        outcomes = run(inputs, packing)
        torch.manual_seed(1)
        drawn = [torch.randn(part.shape, dtype=torch.float64).to(DEVICE) for part in outcomes]
        total = sum((part * factor).sum() for part, factor in zip(outcomes, drawn, strict=True))
        gradients = torch.autograd.grad(total, [inputs, *layer.parameters()])
        assert len({one.data_ptr() for one in gradients}) == len(gradients)
        results.append([*outcomes, *gradients])
    for found in results[1:]:
        close(found, results[0], 1e-9)


def run_by(run, first, inputs, weights):
    """The outputs, and the gradients of all inputs and weights."""
    given = [tensor.detach().requires_grad_() for tensor in (first, inputs)]
    outputs = run(*given)
    torch.manual_seed(1)
    total = (outputs * torch.randn(outputs.shape).to(outputs)).sum()
    return [outputs, *torch.autograd.grad(total, [*given, *weights])]


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_a_layer_from_first_states_of_each_row(cell):
    torch.manual_seed(0)
    one = make_cell(cell, 5, 4).to(DEVICE, torch.float64)
    packing = Packing.of(SOURCE.lengths, 6)
    inputs = torch.randn(packing.starts[-1], 5, dtype=torch.float64).to(DEVICE)
    first = torch.randn(3, one.state_size, dtype=torch.float64).to(DEVICE)

    def by_torch(first, inputs):
        return run_cells([one], inputs, packing, first[None, packing.order], training=True)[0]

    expected = run_by(by_torch, first, inputs, one.parameters())
    for _ in range(3):
        found = run_by(
            lambda *given: recurrence_cuda.run_forward(one, *given, packing), first, inputs, one.parameters()
        )
        close(found, expected, 1e-9)


@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
@pytest.mark.parametrize("directions", [1, 2])
def test_half_precision_in_products_and_outputs(cell, directions):
    """Every number has the three digits of bfloat16, and sums over all steps lose no more."""
    torch.manual_seed(0)
    layer = RecurrentLayer(8, 16, cell=cell, bidirectional=directions == 2).to(DEVICE)
    packing = Packing.of(SOURCE.lengths, 6)
    inputs = torch.randn(packing.starts[-1], 8).to(DEVICE)
    sweep = replace(
        recurrence_cuda.sweep_of(layer.each(), len(packing.longest), len(packing.starts) - 1), narrow=True
    )
    (rows, times), known = packing.rows_and_times(), packing.known
    places = [times * sweep.rows + rows, (known[rows] - 1 - times) * sweep.rows + rows][:directions]
    orders = recurrence_cuda.orders_of(sweep, places, known, inputs.device)

    def narrow(first, inputs):
        return recurrence_cuda.run_in(sweep, orders, layer.each(), first, inputs)[0]

    def whole(first, inputs):
        each = first.unsqueeze(1).expand(-1, len(packing.longest), -1)
        return run_cells(layer.each(), inputs, packing, each, training=True)[0]

    weights = list(layer.cells.parameters())
    expected = run_by(whole, layer.first, inputs, weights)
    share = 0.01 if DEVICE == "cuda" else 0.03  # the interpreter truncates instead of rounding
    for _ in range(3):
        found = run_by(narrow, layer.first, inputs, weights)
        assert [one.dtype for one in found] == [torch.bfloat16] + [torch.float32] * (len(found) - 1)
        for one, other in zip(found, expected, strict=True):
            assert 0 < (one - other).norm() < share * other.norm()


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 18, 2, 16), (2, 1, 35, 130), (2, 3, 0, 4)], ids=str)
@pytest.mark.parametrize("dtype, tolerance", [(torch.float64, 1e-12), (torch.bfloat16, 2e-2)])
def test_quick_additive_scores(shape, dtype, tolerance):
    rows, count, positions, size = shape
    torch.manual_seed(0)
    shapes = [(rows, count, size), (rows, positions, size), (size,)]
    given = [torch.randn(one, dtype=torch.float64).to(DEVICE, dtype).requires_grad_() for one in shapes]
    queries, keys, vector = (part.double() for part in given)
    expected = torch.tanh(queries.unsqueeze(2) + keys.unsqueeze(1)) @ vector
    found = additive.additive_scores(*given)
    factor = torch.randn_like(found)
    close([found.double()], [expected], tolerance * 0.1)
    wanted = torch.autograd.grad((expected * factor).sum(), given)
    close(torch.autograd.grad((found * factor).sum(), given), wanted, tolerance)


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (1, 18, 2, 300), (2, 32, 9, 16)], ids=str)
def test_quick_reads_of_many_looks(shape):
    rows, count, positions, size = shape
    torch.manual_seed(0)
    weights = torch.rand(rows, count, positions).to(DEVICE).requires_grad_()
    values = torch.randn(rows, positions, size).to(DEVICE, torch.bfloat16).requires_grad_()
    assert not Reads().why_not(weights, values)
    found = reads.read(weights, values)
    expected = weights.double() @ values.double()
    factor = torch.randn(found.shape).to(found)
    wanted = torch.autograd.grad((expected * factor.double()).sum(), (weights, values))
    taught = torch.autograd.grad((found * factor).sum(), (weights, values), create_graph=True)
    again = torch.autograd.grad((reads.read(weights, values) * factor).sum(), (weights, values))
    for one, other in zip((found, *taught, *again), (expected, *wanted, *wanted), strict=True):
        assert (one - other).norm() < 0.01 * other.norm()


def test_quick_the_gradient_of_a_gradient_of_additive_scores():
    torch.manual_seed(0)
    shapes = [(2, 3, 4), (2, 2, 4), (4,)]
    given = tuple(torch.randn(one, dtype=torch.float64, device=DEVICE, requires_grad=True) for one in shapes)
    assert torch.autograd.gradgradcheck(additive.additive_scores, given)


@pytest.mark.parametrize("score", ["additive", "dot", "scaled-dot", "general"])
@pytest.mark.parametrize("select", ["softmax", "sigmoid", "segments"])
def test_a_quick_look_of_several_hypotheses(score, select):
    if DEVICE == "cpu" and select != "softmax" and score != "additive":
        pytest.skip("in the interpreter every score and every selection, not every combination")
    torch.manual_seed(3)
    attention = Attention(8, 8, score=score, select=select).to(DEVICE).double()
    memory = Memory(
        torch.randn(3, 5, 8, device=DEVICE, dtype=torch.float64),
        torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 1, 0]], device=DEVICE) > 0,
        torch.zeros(3, 8, device=DEVICE),
    )
    query = torch.randn(3, 4, 8, device=DEVICE, dtype=torch.float64)
    with torch.no_grad():
        keys = attention.keys(memory)
        expected = attention(query, memory, keys)
        context, weights = look(attention, query, memory, keys)
    torch.testing.assert_close(context, expected.context)
    torch.testing.assert_close(weights, expected.weights)


@pytest.mark.parametrize("choices, count", [(11, 1), (200, 6), (64, 64) if DEVICE == "cuda" else (16, 16)])
def test_quick_best_choices_within_limits(choices, count):
    torch.manual_seed(4)
    logits = torch.randn(4, 3, choices, device=DEVICE, dtype=torch.float64)
    logits[1, 1, 5:] = -torch.inf
    last, at = torch.tensor([9, 3, 2, 9], device=DEVICE), torch.tensor(3, device=DEVICE)
    found = best.best(logits, last, at, count, end=3, minimum=5, forbidden=(0, 2))
    torch.testing.assert_close(found[0], logits.logsumexp(-1))
    allowed = logits.clone()
    allowed[..., [0, 2, 3]] = -torch.inf
    allowed[1:3] = -torch.inf
    expected = allowed.topk(count, -1)
    torch.testing.assert_close(found[1], expected.values)
    real = expected.values > -torch.inf
    assert torch.equal(found[2][real], expected.indices[real])
    late = best.best(logits, last, at, count, end=3, minimum=0, forbidden=(0, 2))
    assert (late[2][1:3, :, 0] == 3).all()
    torch.testing.assert_close(late[1][1:3, :, 0], logits[1:3, :, 3])
    assert (late[1][1:3, :, 1:] == -torch.inf).all()


def test_a_planted_nan_reaches_the_normalizer():
    logits = torch.zeros(1, 2, 9, device=DEVICE)
    logits[0, 1, 4] = torch.nan
    last, at = torch.tensor([9], device=DEVICE), torch.tensor(0, device=DEVICE)
    found = best.best(logits, last, at, 2, end=3, minimum=0, forbidden=())
    assert found[0][0, 0].isfinite() and not found[0][0, 1].isfinite()


@pytest.mark.parametrize("size, n_best, penalty", [(1, 1, 1.0), (3, 2, 0.6), (5, 5, 0.0)])
def test_quick_beams_go_where_plain_ones_go(size, n_best, penalty):
    """A search over random logits, some of them −inf, with both implementations of the bookkeeping."""
    torch.manual_seed(5)
    rows, choices, steps, end = 4, 9, 6, 3
    beam = Beam(size, length_penalty=penalty, best=n_best)
    bounds = Bounds(torch.tensor([9, 3, 2, 5], device=DEVICE), 0, end, (0, 2), None)
    live, done = torch.zeros(rows, 1, device=DEVICE), torch.tensor([0, 0, 0, 1], device=DEVICE) > 0
    pool = other_pool = Finished.empty(live.expand(-1, size))
    sound = torch.ones(rows, dtype=torch.int8, device=DEVICE)
    kept, paths = [], BackPointers(end)
    for t in range(steps):
        logits = torch.randn(rows, live.shape[1], choices, device=DEVICE) * 2
        logits[..., end] += 1.5
        logits[0, :, 5:] = -torch.inf
        at, count = torch.tensor(t, device=DEVICE), min(2 * size, choices)
        normalizers, values, words, _ = best.best(
            logits, bounds.last, at, count, end=end, minimum=0, forbidden=(0, 2)
        )
        room = (
            torch.empty(rows, size, device=DEVICE),
            torch.empty(rows, size, dtype=torch.int64, device=DEVICE),
            torch.empty(rows, size, dtype=torch.int64, device=DEVICE),
        )
        parts, new_done, _ = beams.advance(
            values, words, normalizers, live, pool.parts, done, bounds.last, at, sound, room,
            size=size, n_best=n_best, end=end, penalty=penalty,
        )  # fmt: skip
        expected = beam.advance(values, words, live - normalizers, other_pool, done, bounds, t)
        torch.testing.assert_close(room[0], expected[0])
        real = expected[0] > -torch.inf
        assert torch.equal(room[1][real], expected[1][real]) and torch.equal(room[2][real], expected[2][real])
        pool, other_pool = Finished(*parts), expected[3]
        for found, plain in zip(pool.parts[:2], other_pool.parts[:2], strict=True):
            torch.testing.assert_close(found, plain)
        finished = pool.totals > -torch.inf
        for found, plain in zip(pool.parts[2:], other_pool.parts[2:], strict=True):
            assert torch.equal(found[finished], plain[finished])
        assert torch.equal(new_done, expected[4])
        live, done = room[0], new_done
        kept.append(room)
        paths.keep(Unfinished.all(rows, live.device), room[2], room[1], room[0], {})
    assert bool(sound.all())
    stacked = (torch.stack([room[place] for room in kept]) for place in (2, 1, 0))
    ended = (pool.steps, pool.slots, pool.totals)
    tokens_, reached, _ = beams.follow(*stacked, ended, n_best, end=end, pad=0)
    plain = paths.follow(pool, n_best, steps)
    assert torch.equal(tokens_, plain.tokens)
    torch.testing.assert_close(
        reached.diff(dim=-1, prepend=torch.zeros_like(reached[..., :1]))[tokens_ != 0],
        plain.token_scores[tokens_ != 0],
    )


@pytest.mark.parametrize("size, n_best", [(1, 1), (2, 1), (5, 2)] if DEVICE == "cuda" else [(2, 1)])
def test_quick_beams_share_banks_as_plain_ones_do(size, n_best):
    """A search over random logits under a random table of a constraint, with both implementations of its steps."""
    torch.manual_seed(6)
    rows, choices, states_, end = 4, 9, 7, 3
    beam = Beam(size, length_penalty=0.6, best=n_best)
    bounds = Bounds(torch.tensor([9, 3, 2, 5], device=DEVICE), 0, end, (0, 2), None)
    table = torch.randint(0, states_, (states_, choices), dtype=torch.int32, device=DEVICE)
    needed = torch.tensor([2, 1, 1, 0, 0, 3, 2**30], dtype=torch.int32, device=DEVICE)
    missing = torch.tensor([3, 2, 2, 1, 0, 1, 0], dtype=torch.int32, device=DEVICE)
    live, done = torch.zeros(rows, 1, device=DEVICE), torch.tensor([0, 0, 0, 1], device=DEVICE) > 0
    states = torch.zeros(rows, 1, dtype=torch.int64, device=DEVICE)
    pool = Finished.empty(live.expand(-1, size))
    sound = torch.ones(rows, dtype=torch.int8, device=DEVICE)
    constraint = ConstraintTable(table, None, needed, missing, choices)
    for t in range(5 if DEVICE == "cuda" else 3):
        logits = torch.randn(rows, live.shape[1], choices, device=DEVICE) * 2
        at, count = torch.tensor(t, device=DEVICE), min(2 * size, choices)
        normalizers, values, words, banks = best.best(
            logits, bounds.last, at, count, end=end, minimum=0, forbidden=(0, 2),
            table=(table, needed, missing, states), nearer=size,
        )  # fmt: skip
        obeyed = Obeyed(constraint, states)
        allowed = allow(bounds, logits.clone(), at, late=True, obeyed=obeyed)
        top = allowed.topk(count, -1)
        plain = with_missing(allowed, top.values, top.indices, obeyed.missing(), size)
        torch.testing.assert_close(values, plain[0])
        real = values > -torch.inf
        assert torch.equal(words[real], plain[1][real]) and torch.equal(banks[real], plain[2][real])
        room = (
            torch.empty(rows, size, device=DEVICE),
            *torch.empty(2, rows, size, dtype=torch.int64, device=DEVICE),
        )
        parts, new_done, new_states = beams.advance(
            values, words, normalizers, live, pool.parts, done, bounds.last, at, sound, room,
            size=size, n_best=n_best, end=end, penalty=0.6, banks=banks, enough=beam.enough(3), table=(table, states),
        )  # fmt: skip
        expected = beam.advance(
            plain[0], plain[1], live - normalizers, pool, done, bounds, t, plain[2], beam.enough(3)
        )
        torch.testing.assert_close(room[0], expected[0])
        real = expected[0] > -torch.inf
        assert torch.equal(room[1][real], expected[1][real]) and torch.equal(room[2][real], expected[2][real])
        after = constraint.follow(states.gather(1, room[1]), room[2])
        assert torch.equal(new_states, after) and torch.equal(new_done, expected[4])
        pool = Finished(*parts)
        for found, other in zip(pool.parts[:2], expected[3].parts[:2], strict=True):
            torch.testing.assert_close(found, other)
        ended = pool.totals > -torch.inf
        for found, other in zip(pool.parts[2:], expected[3].parts[2:], strict=True):
            assert torch.equal(found[ended], other[ended])
        live, done, states = room[0], new_done, new_states


def test_quick_beams_tell_of_a_planted_nan():
    values, words = torch.zeros(2, 1, 4, device=DEVICE), torch.ones(2, 1, 4, dtype=torch.int64, device=DEVICE)
    live, done = torch.zeros(2, 1, device=DEVICE), torch.zeros(2, dtype=torch.bool, device=DEVICE)
    sound = torch.ones(2, dtype=torch.int8, device=DEVICE)
    normalizers = torch.tensor([[1.0], [torch.nan]], device=DEVICE)
    room = (
        torch.empty(2, 2, device=DEVICE),
        *torch.empty(2, 2, 2, dtype=torch.int64, device=DEVICE),
    )
    last, at = torch.tensor([9, 9], device=DEVICE), torch.tensor(0, device=DEVICE)
    pool = Finished.empty(live.expand(-1, 2))
    beams.advance(
        values, words, normalizers, live, pool.parts, done, last, at, sound, room,
        size=2, n_best=1, end=3, penalty=1.0,
    )  # fmt: skip
    assert sound.tolist() == [1, 0]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cell": "lstm", "state": "current"},
        {"layers": 2, "objective": TextObjective(smoothing=0.2)},
        {"memories": 2},
    ],
)
def test_quick_buckets_cost_what_their_batches_cost(options):
    """The recorded bucket has more rows, positions and steps than the batch."""
    whole = model(**options)
    loss = whole["decoder"].loss(remember(whole), TARGET)
    expected = [loss.total, loss.count, *gradients(loss.total, whole)]
    memories = {}
    for name, given in {"source": SOURCE, "other": OTHER}.items():
        if name in whole:
            ids, lengths = wide(given, 0)
            assert not recorded_reading.lacks(whole[name])
            values, summary = recorded_reading.whole(whole[name], ids, lengths)
            mask = torch.arange(ids.shape[1], device=DEVICE) < lengths[:, None]
            mask[len(given.ids) :, 0] = True
            memories[name] = Memory(values, mask, summary)
    assert not recorded_loss.lacks(whole["decoder"], memories, None)
    total, likelihood, count = recorded_loss.whole(whole["decoder"], memories, Tokens(*wide(TARGET, -1)))
    close(expected, [total, count, *gradients(total, whole)], 1e-9)
    torch.testing.assert_close(likelihood, loss.parts["likelihood"])


@pytest.mark.parametrize(
    "options", [{}, {"cell": "lstm", "layers": 2, "state": "current", "feed": False}], ids=str
)
def test_quick_a_whole_network_in_one_recording(options, monkeypatch):
    """From the words of a batch to their loss: the same as encoder and decoder separately."""
    whole = model(**options)
    network = Network(
        {"source": whole["source"]},
        {"target": whole["decoder"]},
        over={"target": ("source",)},
        truths={"target": {}},
        weights={"target": 2.0},
    )
    batch = Batch({"source": SOURCE, "target": TARGET}, (0, 1, 2), 0)
    monkeypatch.setattr(recorded_network, "knows", lambda *given: False)
    expected = network(batch)["target"]
    found = recorded_network.loss(network, batch)
    assert (found.weight, float(found.count)) == (expected.weight, float(expected.count))
    close(
        [expected.total, *gradients(expected.total, whole)],
        [found.total, *gradients(found.total, whole)],
        1e-9,
    )


@pytest.mark.parametrize("decoupled", [False, True], ids=["adam", "adamw"])
@pytest.mark.parametrize("averaged", [False, True], ids=["alone", "averaged"])
def test_quick_steps_of_adam(decoupled, averaged):
    """The steps of torch with scaled gradients, followed by the moving average."""
    torch.manual_seed(0)
    weights = [torch.randn(shape).to(DEVICE) for shape in ((70, 60), (7,), (2, 2, 2))]
    expected = [torch.nn.Parameter(one.clone()) for one in weights]
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind(expected, lr=0.1, weight_decay=0.1, betas=(0.8, 0.95), eps=1e-6)
    averages = [one.clone() for one in weights]
    followed = [one.clone() for one in weights]
    moments = [[torch.zeros_like(one) for one in weights] for _ in range(2)]
    tensors = descent.Tensors(weights, *moments, followed if averaged else None)
    for step in range(1, 5):
        gradients = [torch.randn(one.shape).to(DEVICE) for one in weights]
        for one, gradient in zip(expected, gradients, strict=True):
            one.grad = gradient / (3.0 * step)
        optimizer.step()
        torch._foreach_lerp_(averages, [one.detach() for one in expected], 0.25)
        adam = descent.Adam(0.1, (0.8, 0.95), 1e-6, 0.1, decoupled, 0.25)
        descent.descend(tensors, gradients, torch.tensor(3.0 * step, device=DEVICE), step, adam)
    close(weights, [one.detach() for one in expected], 1e-5)
    if averaged:
        close(followed, averages, 1e-5)


def wide(given, length):
    """Pad to a bucket of 4 rows and two more steps; `length` is the length of the padding row."""
    pad = torch.nn.functional.pad
    steps = -(-(given.ids.shape[1] + 1) // 2) * 2 + 1 + (length == 0)
    ids = pad(given.ids, (0, steps - given.ids.shape[1], 0, 1))
    return ids, pad(given.lengths, (0, 1), value=length)


@pytest.mark.parametrize(("parts", "add"), [(1, True), (2, False)])
def test_quick_thin_products(parts: int, add: bool) -> None:
    from regard.fast.cuda.thin import thin_kernel

    directions, rows, inner, columns = 2, 20, 64, 24
    left = torch.randn(directions, rows, inner, device=DEVICE)
    right = torch.randn(directions, columns, inner, device=DEVICE).transpose(1, 2)
    out = torch.randn(directions, rows, columns, device=DEVICE)
    truth = left.double() @ right.double() + (out if add else 0)
    scratch = torch.full((4096,), torch.nan, device=DEVICE)
    counters = torch.zeros(8, dtype=torch.int32, device=DEVICE)
    thin_kernel[(2, parts, directions)](
        left, right, out, scratch, counters, rows, columns, inner, *left.stride(), *right.stride(), *out.stride()[:2],
        ADD=add, PRECISION="ieee", SPLIT=parts, BLOCK_M=32, BLOCK_N=16, BLOCK_K=32,
    )  # fmt: skip
    assert (out - truth).abs().max() < 1e-4
    assert not counters.any()
