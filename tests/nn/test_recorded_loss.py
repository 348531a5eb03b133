"""Encoding and loss of small batches on CUDA in one launch: the same numbers as kernel by kernel."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton")  # kernels of CUDA
from regard.data.batch import Batch, Span, Tokens
from regard.fast.cuda.recurrence.graphs import forget
from regard.fast.paths import recorded_encoder as recorded
from regard.fast.paths import recorded_loss, recorded_network
from regard.fast.recording.buffers import buffers
from regard.fast.recording.replayed_gradient import replays_of
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.decoders.language import LanguageDecoder
from regard.nn.decoders.output import TextObjective
from regard.nn.network import Network
from regard.nn.path import without_fast_paths

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")

SHAPES = [([5, 2, 4], [3, 6, 1]), ([7, 3, 1, 1, 2], [4, 2, 6, 1, 1]), ([9, 8, 3, 1, 2], [4, 2, 9, 2, 1])]


def batch(lengths: list[int], seed: int) -> Tokens:
    counts = torch.tensor(lengths)
    ids = torch.randint(4, 11, (len(lengths), max(lengths)), generator=torch.Generator().manual_seed(seed))
    return Tokens(ids * (torch.arange(max(lengths)) < counts[:, None]), counts).to("cuda")


def pair(**options: object) -> torch.nn.ModuleList:
    torch.manual_seed(0)
    encoder = RecurrentEncoder(Embedding(11, 5), size=4, layers=2)
    attention = {"source": Attention(8, 8)}
    decoder = RecurrentDecoder(Embedding(11, 5), {"source": encoder}, size=8, attention=attention, **options)  # type: ignore[arg-type]
    return torch.nn.ModuleList([encoder, decoder]).cuda().double()


def learned(models: torch.nn.ModuleList, *batches: tuple[Tokens, Tokens]) -> list[Tensor]:
    """The summed loss of several batches and its gradients; all forward passes come first."""
    encoder, decoder = models
    models.zero_grad()
    losses = [decoder.loss({"source": encoder(source)}, target) for source, target in batches]  # type: ignore[operator]
    total = torch.stack([loss.mean for loss in losses]).sum()
    total.backward()
    return [total.detach(), *(one.grad.clone() for one in models.parameters() if one.grad is not None)]


OPTIONS: list[dict[str, object]] = [
    {},
    {"cell": "lstm", "state": "current"},
    {"layers": 2},
    {"cell": "lstm", "layers": 2, "state": "current", "feed": False},
    {"state": "current", "feed": False, "condition": ("start", "every-step", "attention")},
    {"objective": TextObjective(smoothing=0.1)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("together", [1, 2])
def test_recorded_batches_teach_the_same(
    options: dict[str, object], together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = pair(**options)
    batches = [(batch(one, seed), batch(other, seed + 10)) for seed, (one, other) in enumerate(SHAPES)]
    groups = [batches[place : place + together] for place in range(len(batches) - together + 1)]
    found = [learned(models, *group) for group in groups * 3]
    for module in models:
        assert replays_of(module).recordings and not replays_of(module).refused
    for module in (recorded, recorded_loss):
        monkeypatch.setattr(module, "knows", lambda *given: False)
    for place, group in enumerate(groups):
        expected = learned(models, *group)
        for one in found[place :: len(groups)]:
            torch.testing.assert_close(one, expected, atol=1e-10, rtol=1e-8)


def test_what_ran_before_it_was_recorded_gives_its_memory_back() -> None:
    models = pair()
    source, target = (batch(one, seed) for seed, one in enumerate(SHAPES[0]))
    forget()
    once = learned(models, (source, target))
    assert buffers()  # a batch seen once runs in the shared workspace
    for _ in range(4):
        again = learned(models, (source, target))
        torch.testing.assert_close(again, once, atol=1e-10, rtol=1e-8)
    assert not buffers()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradients_add_up_over_recordings(
    options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A whole network in one recording: gradients of earlier batches are kept, wherever they are stored."""
    models = pair(**options)
    encoder, decoder = models
    network = Network(
        {"source": encoder},
        {"target": decoder},
        over={"target": ("source",)},
        truths={"target": {}},
        weights={"target": 1.0},
    )
    batches = [
        Batch({"source": batch(one, seed), "target": batch(other, seed + 10)}, (), 0)
        for seed, (one, other) in enumerate(SHAPES)
    ]

    def summed() -> list[Tensor]:
        models.zero_grad()
        for one in batches:
            network(one)["target"].mean.backward()
        return [one.grad.clone() for one in models.parameters() if one.grad is not None]

    for _ in range(5):
        network(batches[0])["target"].mean.backward()
        models.zero_grad()
    assert len(replays_of(network).pools) == 1  # gradients that were freed do not prevent a replay
    found = [summed() for _ in range(4)]
    assert replays_of(network).recordings and not replays_of(network).refused
    monkeypatch.setattr(recorded_network, "knows", lambda *given: False)
    for module in (recorded, recorded_loss):
        monkeypatch.setattr(module, "knows", lambda *given: False)
    expected = summed()
    for one in found:
        torch.testing.assert_close(one, expected, atol=1e-10, rtol=1e-8)


def test_recordings_survive_batches_that_outgrow_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a larger batch has reallocated memory, an older recording writes only to its own."""
    models = pair()
    small, large = (batch([5, 2, 4], 0), batch([3, 6, 1], 1)), (batch([40] * 20, 2), batch([30] * 20, 3))
    for _ in range(4):
        learned(models, small)
    for _ in range(4):
        learned(models, large)
    others = [torch.full((512,), 77, dtype=torch.int8, device="cuda") for _ in range(20_000)]
    found = learned(models, small)
    assert all(len(replays_of(module).recordings) == 2 for module in models)
    assert torch.stack(others).eq(77).all()
    for module in (recorded, recorded_loss):
        monkeypatch.setattr(module, "knows", lambda *given: False)
    torch.testing.assert_close(found, learned(models, small), atol=1e-10, rtol=1e-8)


def test_reading_without_a_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = pair()[0].eval()
    batches = [batch(one, seed) for seed, (one, _) in enumerate(SHAPES)]
    with torch.no_grad():
        found = [encoder(one) for one in batches * 3]
        monkeypatch.setattr(recorded, "knows", lambda *given: False)
        for place, one in enumerate(batches):
            expected = encoder(one)
            for memory in found[place :: len(batches)]:
                torch.testing.assert_close(memory.values, expected.values)
                torch.testing.assert_close(memory.summary, expected.summary)


def test_dropout_is_drawn_anew() -> None:
    models = pair(dropout=0.5)
    one = (batch([5, 2, 4], 0), batch([3, 6, 1], 1))
    losses = [float(learned(models, one)[0]) for _ in range(6)]
    assert replays_of(models[1]).recordings
    assert len(set(losses)) == 6


def test_a_dropout_that_was_changed_is_drawn_as_it_is_now() -> None:
    models = pair(dropout=0.5)
    one = (batch([5, 2, 4], 0), batch([3, 6, 1], 1))
    for _ in range(4):
        learned(models, one)
    for module in models.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    losses = [float(learned(models, one)[0]) for _ in range(4)]
    assert max(losses) - min(losses) < 1e-12


@pytest.mark.parametrize("variational", [False, True])
def test_spans_of_a_language_model(variational: bool) -> None:
    torch.manual_seed(0)
    options = LanguageDecoder.Options(
        size=6, embedding=6, layers=2, dropout=0.0 if not variational else 0.4, variational=variational
    )
    decoder = LanguageDecoder(Embedding(11, 6), options, 11).cuda()
    ids = torch.randint(4, 11, (5, 3, 8), device="cuda")
    spans = [Span(one[:, 1:], one[:, :-1], fresh=number == 0) for number, one in enumerate(ids)]

    def through() -> list[Tensor]:
        found = []
        for span in spans:
            decoder.zero_grad()
            loss = decoder.loss({}, span)
            loss.mean.backward()
            found += [loss.mean.detach(), *(one.grad.clone() for one in decoder.parameters())]  # type: ignore[union-attr]
        return found

    results = [through() for _ in range(3)]
    assert replays_of(decoder).recordings, replays_of(decoder).refused
    if variational:
        assert not torch.equal(results[1][0], results[2][0])
        return
    with without_fast_paths():
        expected = through()
    for one in results:
        torch.testing.assert_close(one, expected, atol=1e-5, rtol=1e-4)
