"""Encoders, decoders and their parts under torch.func, torch.export, tracing, torch.compile, autocast and
inference mode: the numbers of eager mode, or a clear refusal."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from regard import parts
from regard.data.batch import Batch, Tokens
from regard.errors import RegardError
from regard.model import Model
from regard.nn import Attention, Embedding, Memory
from regard.nn.cells import make_cell
from regard.nn.cells.cell import dense_or_packed
from regard.nn.decoders import LabelDecoder
from regard.nn.encoders import ConvolutionalEncoder, MeanEncoder, RecurrentEncoder
from regard.nn.packing import sent
from regard.spec import Spec
from regard.structures.kernels import plainly
from regard.testing.rows import rows
from regard.testing.specs import contexts
from tests.nn.conftest import SOURCE, TARGET, model, tokens

OTHER = tokens([5, 5, 6, 9, 8], [9, 9], [3, 6, 4, 1])
DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")),
]
ENCODERS: dict[str, Callable[[], Any]] = {
    "recurrent": lambda: RecurrentEncoder(Embedding(11, 8), size=4),
    "lstm": lambda: RecurrentEncoder(Embedding(11, 8), size=4, cell="lstm", layers=2),
    "convolutional": lambda: ConvolutionalEncoder(Embedding(11, 8), size=6),
    "mean": lambda: MeanEncoder(Embedding(11, 8)),
}
AT_ONCE = ["convolutional", "mean"]


def made(make: Callable[[], Any], device: str = "cpu", dtype: torch.dtype = torch.float64) -> Any:
    torch.manual_seed(0)
    return make().to(device, dtype).eval()


def leaves(tree: Any) -> list[Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, Tensor)]


def same(found: Any, right: Any, **tolerance: float) -> None:
    pairs = list(zip(leaves(found), leaves(right), strict=True))
    assert pairs
    for mine, wanted in pairs:
        torch.testing.assert_close(mine.detach(), wanted.detach(), check_dtype=not tolerance, **tolerance)


def summed(memory: Memory) -> Tensor:
    return memory.values.sin().sum() + memory.summary.square().sum()


def gradients_of(module: nn.Module, number: Tensor) -> dict[str, Tensor]:
    names, weights = zip(*module.named_parameters(), strict=True)
    found = torch.autograd.grad(number, weights, allow_unused=True)
    return {n: torch.zeros_like(w) if g is None else g for n, w, g in zip(names, weights, found, strict=True)}


def in_plain_code(module: nn.Module, function: Callable[[], Tensor]) -> dict[str, Tensor]:
    with plainly():
        return gradients_of(module, function())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ENCODERS)
def test_functional_gradient_of_an_encoder(name, device):
    encoder, given = made(ENCODERS[name], device), SOURCE.to(device)
    right = in_plain_code(encoder, lambda: summed(encoder(given)))
    weights = dict(encoder.named_parameters())
    found = torch.func.grad(lambda w: summed(torch.func.functional_call(encoder, w, (given,))))(weights)
    same(found, right)
    stacked = {name: torch.stack([one, one * 0.5]) for name, one in weights.items()}
    each = torch.func.vmap(lambda w: summed(torch.func.functional_call(encoder, w, (given,))))(stacked)
    with plainly():
        torch.testing.assert_close(each[0], summed(encoder(given)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("select", ["softmax", "sigmoid", "segments", "sparsemax"])
def test_functional_gradient_of_a_decoder(select, device):
    encoder, decoder = model(select=select, dtype=torch.float64)
    network = nn.ModuleDict({"encoder": encoder, "decoder": decoder}).to(device)
    source, target = SOURCE.to(device), TARGET.to(device)

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = network

        def forward(self) -> Tensor:
            return self.parts["decoder"].loss({"source": self.parts["encoder"](source)}, target).total

    whole = Whole()
    right = in_plain_code(whole, whole)
    found = torch.func.grad(lambda w: torch.func.functional_call(whole, w, ()))(
        dict(whole.named_parameters())
    )
    same(found, right)
    weights = dict(whole.named_parameters())
    _, slope = torch.func.jvp(
        lambda w: torch.func.functional_call(whole, w, ()),
        (weights,),
        ({n: w.cos() for n, w in weights.items()},),
    )
    torch.testing.assert_close(slope, sum((right[n] * w.cos()).sum() for n, w in weights.items()))


TREES = [
    context.changed({"structure": structure})
    for structure, context in itertools.product(["given", "latent", "balanced"], contexts("encoder", "tree"))
    if context.name == "root"
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("context", TREES, ids=lambda context: context.get("structure"))
def test_functional_gradient_of_trees(context, device):
    spec = Spec.parse(context.document)
    torch.manual_seed(0)
    whole = Model.build(spec, rows=rows())
    network = whole.network.to(device, torch.float64).eval()
    batch = next(whole.batches(rows()).epoch(0)).to(torch.device(device))

    def loss(weights: dict[str, Tensor]) -> Tensor:
        found = torch.func.functional_call(network, weights, (batch,))
        return torch.stack([one.total for one in found.values()]).sum()

    weights = dict(network.named_parameters())
    same(torch.func.grad(loss)(weights), in_plain_code(network, lambda: loss(weights)))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_places_are_sent_to_a_device_under_a_transform(device):
    """A new tensor has no memory there that could be written to."""
    places = np.arange(6).reshape(2, 3)
    found = []

    def noted(x: Tensor) -> Tensor:
        found.extend(sent(torch.device(device), places.ravel(), places[0]))
        return x.sum()

    torch.func.grad(noted)(torch.zeros(2))
    assert [(tuple(one.shape), one.dtype, one.device.type) for one in found] == [
        ((6,), torch.int64, device),
        ((3,), torch.int64, device),
    ]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cell", ["gru", "lstm", "rnn"])
def test_gradients_in_evaluation_mode(cell, device, monkeypatch):
    """They are those of training without dropout. cuDNN needs its training mode for them."""
    modes = []
    for name in ("gru", "lstm", "rnn_tanh"):
        run = getattr(torch, name)
        monkeypatch.setattr(torch, name, lambda *given, run=run: (modes.append(given[-2]), run(*given))[1])
    monkeypatch.setattr("regard.nn.cells.gru.RECURRENCE", dense_or_packed(torch.gru))
    monkeypatch.setattr(
        "regard.nn.cells.rnn.RECURRENCES",
        {"tanh": dense_or_packed(torch.rnn_tanh)},
    )
    torch.manual_seed(0)
    encoder = RecurrentEncoder(Embedding(11, 8), size=4, layers=2, cell=cell).to(device, torch.float64)
    given = SOURCE.to(device)
    right = in_plain_code(encoder.train(), lambda: summed(encoder(given)))
    same(in_plain_code(encoder.eval(), lambda: summed(encoder(given))), right)
    assert modes == [True] * 4
    with plainly(), torch.no_grad():
        encoder(given)
    assert modes[4:] == [False] * 2


def choose(name: str) -> Any:
    return parts.part("selection", name)


SELECTIONS = sorted(
    name for name in parts.names("selection") if not choose(name).needs and choose(name).joint != "queries"
)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", SELECTIONS)
def test_selections(name, device):
    """vmap over queries, gradients and tangents of the weights of attention, and a compiled selection."""
    select = made(lambda: choose(name)(), device)
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 4, dtype=torch.float64, device=device)
    mask = torch.tensor([[True] * 4, [True, True, True, False]], device=device)
    with plainly():
        right = select(scores, mask)
        leaf = scores.clone().requires_grad_()
        weights = select(leaf, mask)
        slope = (
            torch.autograd.grad(weights.sin().sum(), leaf)[0]
            if weights.requires_grad
            else torch.zeros_like(leaf)
        )
    same(select(scores, mask), right)
    with torch.inference_mode():
        same(select(scores, mask), right)
    same(torch.func.vmap(select, in_dims=(0, None))(torch.stack([scores, -scores]), mask)[0], right)
    same(torch.func.grad(lambda x: select(x, mask).sin().sum())(scores), slope)
    try:
        _, tangent = torch.func.jvp(lambda x: select(x, mask).sin().sum(), (scores,), (scores.cos(),))
    except (NotImplementedError, RuntimeError) as refusal:
        assert "jvp" in str(refusal)
    else:
        torch.testing.assert_close(tangent, (slope * scores.cos()).sum())
    torch._dynamo.reset()
    same(torch.compile(select, backend="eager", fullgraph=True)(scores, mask), right)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", sorted(parts.names("cell")))
def test_cells(name, device):
    cell = made(lambda: make_cell(name, 3, 4), device)
    torch.manual_seed(1)
    inputs, state = (torch.randn(5, n, dtype=torch.float64, device=device) for n in (3, cell.state_size))

    def advance(state: Tensor) -> Tensor:
        return cell.advance(cell.project(inputs), state)

    with plainly():
        right = advance(state)
        (slope,) = torch.autograd.grad(advance(leaf := state.clone().requires_grad_()).sin().sum(), leaf)
    same(torch.func.grad(lambda x: advance(x).sin().sum())(state), slope)
    same(torch.func.vmap(advance)(torch.stack([state, -state]))[0], right)
    torch.testing.assert_close(
        torch.func.jvp(lambda x: advance(x).sin().sum(), (state,), (state.cos(),))[1],
        (slope * state.cos()).sum(),
    )
    torch._dynamo.reset()
    same(torch.compile(advance, backend="eager", fullgraph=True)(state), right)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_and_inference_mode(name, dtype, device):
    encoder, given = made(ENCODERS[name], device, torch.float32), OTHER.to(device)
    right = encoder(given)
    with torch.inference_mode():
        same(encoder(given), right, rtol=1e-5, atol=1e-6)
    with torch.autocast(device, dtype):
        narrow = encoder(given)
    same(narrow, right, rtol=0.05, atol=0.05)


def test_a_batch_is_a_tree_of_tensors():
    batch = Batch({"text": SOURCE, "label": torch.tensor([1, 0, 1])}, rows=(4, 7, 2), cost=15)
    assert [tuple(leaf.shape) for leaf in pytree.tree_leaves(batch)] == [(3, 5), (3,), (3,)]
    doubled = pytree.tree_map(lambda leaf: 2 * leaf, batch)
    assert isinstance(doubled["text"], Tokens) and doubled.rows == (4, 7, 2) and doubled.cost == 15
    assert torch.equal(doubled["label"], torch.tensor([2, 0, 2]))
    _, form = pytree.tree_flatten(batch)
    assert form == pytree.tree_flatten(Batch(batch.columns, rows=(1, 2, 3)))[1], (
        "rows are no part of the form"
    )


@pytest.mark.parametrize("name", AT_ONCE)
def test_an_encoder_is_exported(name):
    encoder = made(ENCODERS[name])
    program = torch.export.export(encoder, (SOURCE,), strict=False)
    found = program.module()(OTHER)
    assert isinstance(found, Memory) and found.layout == "line"
    same(found, encoder(OTHER))


@pytest.mark.parametrize("name", ["recurrent", "lstm"])
def test_an_encoder_that_depends_on_lengths_is_refused(name):
    encoder = made(ENCODERS[name])
    with pytest.raises(RegardError, match="arranges its rows by their lengths"):
        torch.export.export(encoder, (SOURCE,), strict=False)
    with pytest.raises(RegardError, match="exported or traced program"):
        torch.jit.trace(lambda ids, n: encoder(Tokens(ids, n)).values, (SOURCE.ids, SOURCE.lengths))


class Labeling(nn.Module):
    """A label model: what the network of a built model computes, from a batch to log-probabilities."""

    def __init__(self, encoder: Any, decoder: Any) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, batch: Batch) -> Any:
        return self.decoder.predict({"text": self.encoder(batch["text"])})


@pytest.mark.parametrize("how", ["export", "compile"])
def test_a_label_model_from_end_to_end(how):
    torch.manual_seed(0)
    encoder = ConvolutionalEncoder(Embedding(11, 8), size=6)
    attention = {"text": Attention(6, encoder.value_size, score="additive", select="segments")}
    whole = Labeling(encoder, LabelDecoder(3, {"text": encoder}, attention=attention)).eval()
    given, other = (Batch({"text": one}, rows=(0, 1, 2)) for one in (SOURCE, OTHER))
    if how == "export":
        run = torch.export.export(whole, (given,), strict=False).module()
    else:
        torch._dynamo.reset()
        run = torch.compile(whole, backend="eager")
    with torch.no_grad(), plainly():
        right = whole(other)
    same(run(other), right, rtol=1e-5, atol=1e-6)
    assert right.log_probabilities.exp().sum(-1).allclose(torch.ones(3))
