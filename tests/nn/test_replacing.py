"""A fast path serves only objects that compute what it replaces, also on devices that are not here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from regard.fast import recurrence, recurrence_cuda
from regard.fast.paths import graphed, recorded_encoder, recorded_network
from regard.fast.paths.adam_cuda import QuickAdam
from regard.fast.paths.fused_step import SEARCHED
from regard.fast.paths.recorded_beam import BEAMS
from regard.fast.paths.recorded_loss import LOSSES
from regard.fast.recording.recordable import recordable, state_of
from regard.fast.recurrence import kernel_of
from regard.nn import Attention, GRUCell, LSTMCell, RNNCell
from regard.nn.decoders import at_once
from regard.nn.decoders.recurrent import UNROLLED
from regard.nn.packing import Packing
from regard.nn.path import Replaces, without_fast_paths
from regard.nn.recurrence import RecurrentLayer
from regard.nn.search import Beam, Greedy
from regard.nn.selections import Sigmoid, Softmax

from .conftest import SOURCE, TARGET, model


def other(thing: nn.Module, **methods: Callable[..., Any]) -> None:
    """Make the object one of a subclass with these methods."""
    thing.__class__ = type(f"Other{type(thing).__name__}", (type(thing),), methods)


def halved(self: Any, projected: Tensor, state: Tensor) -> Tensor:
    return 0.5 * super(type(self), self).advance(projected, state)


@pytest.mark.parametrize("kind", [GRUCell, LSTMCell, RNNCell])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_layer_runs_the_steps_of_a_subclass(kind: type[Any], bidirectional: bool) -> None:
    """Against a loop over positions and rows."""
    torch.manual_seed(1)
    name = {GRUCell: "gru", LSTMCell: "lstm", RNNCell: "rnn"}[kind]
    layer = RecurrentLayer(3, 4, cell=name, bidirectional=bidirectional)
    for cell in layer.each():
        other(cell, advance=halved)
    lengths = torch.tensor([5, 2, 4, 3, 1, 5])
    inputs = torch.randn(len(lengths), 5, 3)
    packing = Packing.of(lengths, 5)
    found, last = layer(packing.pack(inputs), packing)
    found = packing.unpack(found)
    for row, length in enumerate(lengths.tolist()):
        ends = []
        for direction, cell in enumerate(layer.each()):
            state = layer.first[direction]
            for position in range(length) if direction == 0 else reversed(range(length)):
                state = 0.5 * kind.advance(cell, kind.project(cell, inputs[row, position]), state)
                seen = found[row, position, 4 * direction : 4 * direction + 4]
                torch.testing.assert_close(seen, state[:4], rtol=1e-4, atol=1e-5)
            ends.append(state[:4])
        torch.testing.assert_close(last[row], torch.cat(ends), rtol=1e-4, atol=1e-5)


def changed_advance(decoder: Any) -> None:
    other(decoder.stack.cell(1), advance=halved)


def replaced_method(decoder: Any) -> None:
    cell = decoder.stack.cell(1)
    cell.advance = lambda projected, state: 0.5 * GRUCell.advance(cell, projected, state)


def hook_on_attention(decoder: Any) -> None:
    def double(module: Any, given: Any, look: Any) -> Any:
        return type(look)(2 * look.context, look.weights, look.scores)

    decoder.reading.attention("source").register_forward_hook(double)


def hook_on_selection(decoder: Any) -> None:
    decoder.reading.attention("source").select.register_forward_hook(lambda module, given, found: 0.5 * found)


def hook_on_layer_of_score(decoder: Any) -> None:
    decoder.reading.attention("source").score.query.register_forward_hook(lambda one, given, found: 3 * found)


class Adapted(nn.Linear):
    """A linear layer with a low-rank adapter, whose weight alone does not tell what it computes."""

    def forward(self, inputs: Tensor) -> Tensor:
        return super().forward(inputs) + 0.5 * inputs.mean(-1, keepdim=True)


def adapter_in_score(decoder: Any) -> None:
    decoder.reading.attention("source").score.query.__class__ = Adapted


def hook_on_stack(decoder: Any) -> None:
    decoder.stack.register_forward_pre_hook(lambda module, given: (0.5 * given[0], given[1]))


def hook_on_embedding(decoder: Any) -> None:
    decoder.embedding.register_forward_hook(lambda module, given, found: -found)


def hook_on_output(decoder: Any) -> None:
    decoder.output.register_forward_hook(lambda module, given, logits: 0.5 * logits)


def other_readout(decoder: Any) -> None:
    other(decoder, readout=lambda self, *given: torch.tanh(super(type(self), self).readout(*given)))


CHANGES = [
    changed_advance,
    replaced_method,
    hook_on_attention,
    hook_on_selection,
    hook_on_layer_of_score,
    adapter_in_score,
    hook_on_stack,
    hook_on_embedding,
    hook_on_output,
    other_readout,
]


def figures(encoder: Any, decoder: Any) -> list[Tensor]:
    loss = decoder.train().loss({"source": encoder(SOURCE)}, TARGET).total.detach()
    with torch.no_grad():
        memories = {"source": encoder.eval()(SOURCE)}
        decoder.eval()
        return [
            loss,
            decoder.score(memories, TARGET).scores,
            decoder.predict(memories, Greedy()).scores,
            decoder.predict(memories, Beam(2)).scores,
        ]


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("state", ["previous", "current"])
def test_what_is_changed_counts_in_training_and_search(change: Callable[[Any], None], state: str) -> None:
    encoder, decoder = model(layers=2, state=state)
    before = figures(encoder, decoder)
    change(decoder)
    found = figures(encoder, decoder)
    with without_fast_paths():
        expected = figures(encoder, decoder)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert all(not torch.allclose(one, other) for one, other in zip(before, found, strict=True))
    # the loss is minus the sum of the scores that the search computes step by step
    torch.testing.assert_close(found[0], -found[1].sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
def test_no_path_on_cuda_would_replace_what_is_changed(change: Callable[[Any], None]) -> None:
    encoder, decoder = model(layers=2)
    memories = {"source": encoder(SOURCE)}

    def served() -> bool:
        whole = UNROLLED(decoder) and not graphed.lacks(decoder, memories)
        return whole and SEARCHED(decoder) and LOSSES(decoder) and recordable(decoder)

    assert served() and recorded_network.DECODERS(decoder)
    change(decoder)
    assert not served()


def test_no_path_on_cuda_would_replace_a_changed_encoder() -> None:
    encoder, _ = model()
    assert not recorded_encoder.lacks(encoder) and recordable(encoder) and recorded_network.ENCODERS(encoder)
    assert recurrence_cuda.has_kernels(encoder.layers[0].each())
    other(encoder.layers[0].cell(1), advance=halved)
    assert not recurrence_cuda.has_kernels(encoder.layers[0].each())
    assert not recordable(encoder)
    encoder, _ = model()
    encoder.layers[0].register_forward_hook(lambda module, given, found: found)
    assert recorded_encoder.lacks(encoder) and not recordable(encoder)
    encoder, _ = model()
    other(encoder, forward=lambda self, tokens: super(type(self), self).forward(tokens))
    assert not recorded_network.ENCODERS(encoder)
    assert not recorded_network.WHOLE(encoder)  # no network at all


def test_a_method_replaced_on_the_class_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, original = GRUCell(2, 3), GRUCell.advance
    assert kernel_of([cell]) == "gru" and cell.torch_recurrence() is not None
    monkeypatch.setattr(GRUCell, "advance", lambda self, *given: 2 * original(self, *given))
    assert kernel_of([cell]) is None and cell.torch_recurrence() is None


def test_hooks_on_all_modules_count() -> None:
    _, decoder = model()
    handle = nn.modules.module.register_module_forward_hook(lambda module, given, found: None)
    try:
        assert kernel_of([decoder.stack.cell(0)]) is None and not recordable(decoder)
    finally:
        handle.remove()
    assert kernel_of([decoder.stack.cell(0)]) == "gru" and recordable(decoder)


def test_a_subclass_that_computes_the_same_stays_fast() -> None:
    class Named(GRUCell):
        """Other options and equations only."""

        @classmethod
        def equations(cls, options: Any, mark: str) -> list[str]:
            return ["…"]

    assert kernel_of([Named(2, 3)]) == "gru"
    encoder, decoder = model(state="current", feed=False)
    other(decoder, spell=lambda self, *given: [])
    assert (
        UNROLLED(decoder)
        and recurrence.knows_decoder(decoder, {"source": encoder(SOURCE)})
        and at_once.knows(decoder)
    )


def test_a_parametrized_weight_is_used_by_the_kernels() -> None:
    """Weight normalization: the fast path reads the computed weight, and its gradient reaches both factors."""
    encoder, decoder = model()
    nn.utils.parametrizations.weight_norm(decoder.stack.cell(0), "weight_hh")
    nn.utils.parametrizations.weight_norm(decoder.reading.attention("source").score.query)
    memories = {"source": encoder(SOURCE)}
    assert kernel_of([decoder.stack.cell(0)]) == "gru" and recurrence.knows_decoder(decoder, memories)

    def computed() -> tuple[list[Tensor], list[Tensor]]:
        decoder.zero_grad()
        decoder.train().loss(memories, TARGET).total.backward(retain_graph=True)
        found = [one.grad.clone() for name, one in decoder.named_parameters() if "original" in name]
        return figures(encoder, decoder), found

    fast = computed()
    with without_fast_paths():
        plain = computed()
    assert len(fast[1]) == 4
    torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4)


def test_code_of_others_is_recorded_only_if_it_declares_so() -> None:
    class Warm(Softmax):
        heat = 1.0

        def forward(self, scores: Tensor, *given: Any) -> Tensor:
            return super().forward(scores / self.heat, *given)

    class Steady(Warm):
        recordable = True

    found = {one: Attention(4, 4, select=one()) for one in (Softmax, Warm, Steady)}
    assert [recordable(one) for one in found.values()] == [True, False, True]
    changing = found[Softmax]
    known = state_of(changing)
    changing.select = Warm()
    assert not recordable(changing)
    changing.select = Sigmoid()
    assert recordable(changing) and state_of(changing) != known
    known = state_of(changing)
    changing.select.normalize = 1.0
    assert recordable(changing) and state_of(changing) != known
    changing.select.normalize = 2.0
    assert state_of(changing) == known
    changing.select.reading = lambda weights: weights
    assert not recordable(changing)


def test_a_search_with_other_rules_runs_step_by_step() -> None:
    class Longer(Beam):
        def _penalty(self, step: Any) -> Any:
            return 1.0

    assert BEAMS(Beam(2)) and not BEAMS(Longer(2))


def test_an_optimizer_whose_steps_are_watched_takes_its_own() -> None:
    weight = nn.Parameter(torch.ones(2))
    for optimizer in (torch.optim.Adam([weight]), torch.optim.AdamW([weight])):
        weight.sum().backward()
        optimizer.step()
        quick = QuickAdam(optimizer, None)
        quick.tensors = type("Kept", (), {"kept": [[], [optimizer.state[weight]["exp_avg"]]]})()
        assert quick.ready()
        handle = optimizer.register_step_post_hook(lambda *given: None)
        assert not quick.ready()
        handle.remove()
        quick.tensors = type("Kept", (), {"kept": [[], [optimizer.state[weight]["exp_avg"]]]})()
        assert quick.ready()
        torch.optim.lr_scheduler.StepLR(optimizer, 1)  # wraps the method of this optimizer
        assert not quick.ready()


def test_nothing_is_replaced_without_fast_paths() -> None:
    kinds = Replaces(GRUCell, RNNCell)
    cell = GRUCell(2, 3)
    assert kinds.kind(cell) is GRUCell and kinds(cell, None) and not kinds(LSTMCell(2, 3))
    with without_fast_paths():
        assert kinds.kind(cell) is None and not kinds(cell) and not recordable(cell)
