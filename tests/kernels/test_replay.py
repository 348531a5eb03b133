"""CUDA recordings give the same results as the code that was recorded, gradients included."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from regard.data.batch import Tokens
from regard.fast.recording.replay import Recordings, Replays, plain_parts, tensors_of, with_tensors
from regard.fast.recording.replayed_gradient import RecordingPool, replayed, replays_of
from regard.nn import Embedding
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.encoders.transformer import TransformerEncoder
from regard.nn.path import without_fast_paths

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


@dataclass(frozen=True)
class Pair:
    first: Tensor
    others: dict[str, tuple[Tensor, ...]]
    number: int = 3


def test_values_are_taken_apart_and_put_together() -> None:
    one, two, three = torch.ones(1), torch.ones(2), torch.ones(3)
    pair = Pair(one, {"a": (two, three)}, 4)
    assert [len(tensor) for tensor in tensors_of(pair)] == [1, 2, 3]
    again = with_tensors(pair, iter([one * 2, two * 2, three * 2]))
    assert again.number == 4 and again.others["a"][1].sum() == 6
    assert plain_parts(pair) == plain_parts(again) != plain_parts(Pair(one, {"a": (two, three)}, 5))


def test_off_cuda_everything_simply_runs() -> None:
    replays = Replays()
    assert replays("key", lambda given: given * 2, torch.ones(2)).sum() == 4
    layer = nn.Linear(2, 2)
    replayed(layer, lambda x: (layer(x),), torch.ones(1, 2))[0].sum().backward()
    assert layer.weight.grad is not None and not replays_of(layer).pools


def test_memory_that_was_lent_is_free_again_when_all_who_look_at_it_are_gone() -> None:
    pool, memory = RecordingPool(), [torch.arange(6.0), torch.arange(4.0)]
    assert pool.free
    first, second = pool.lend(memory) or []
    weight = nn.Parameter(torch.zeros(3))
    weight.grad = first[3:]
    assert not pool.free and weight.grad.tolist() == [3.0, 4.0, 5.0]
    del first, second
    assert not pool.free
    memory[0].zero_()
    assert weight.grad.tolist() == [0.0, 0.0, 0.0]
    weight.grad = None
    assert pool.free


def test_what_comes_often_is_recorded_and_kept_while_it_is_used() -> None:
    made: list[str] = []
    kept: Recordings[int] = Recordings(often=2, most=3)

    def get(key: str) -> int | None:
        def make() -> int:
            made.append(key)
            return ord(key)

        return kept.get(key, make)

    assert [get("a") for _ in range(4)] == [None, None, 97, 97]
    for key in "bcd" * 3:
        get(key)
    assert made == ["a", "b", "c"]  # no workspace for d, because a was used recently
    for _ in range(12):
        get("b")
        get("c")
    assert get("d") == 100 and list(kept.known) == ["b", "c", "d"]


def test_what_cannot_be_recorded_is_not_tried_again() -> None:
    tried: list[int] = []
    kept: Recordings[int] = Recordings(often=0, most=3)

    def make() -> str:
        tried.append(1)
        return "it asks the device"

    assert [kept.get("a", make) for _ in range(3)] == [None] * 3 and len(tried) == 1


def transformers(norm: str = "pre") -> tuple[TransformerEncoder, TransformerDecoder]:
    torch.manual_seed(1)
    options = {"size": 16, "layers": 2, "heads": 2, "norm": norm}
    encoder = TransformerEncoder(Embedding(11, 16), **options)  # type: ignore[arg-type]
    decoder = TransformerDecoder(Embedding(11, 16), {"source": encoder}, **options)  # type: ignore[arg-type]
    return encoder.cuda().double(), decoder.cuda().double()


def batch(lengths: list[int], width: int, seed: int) -> Tokens:
    ids = torch.randint(4, 11, (len(lengths), width), generator=torch.Generator().manual_seed(seed))
    counts = torch.tensor(lengths)
    return Tokens(ids * (torch.arange(width) < counts[:, None]), counts).to("cuda")


def gradients(pair: tuple[nn.Module, nn.Module], source: Tokens, target: Tokens) -> dict[str, Tensor]:
    encoder, decoder = pair
    for module in pair:
        module.zero_grad()
    loss = decoder.loss({"source": encoder(source)}, target).total  # type: ignore[operator]
    loss.backward()
    found = {
        f"{k}.{name}": one.grad for k, module in enumerate(pair) for name, one in module.named_parameters()
    }
    return {"loss": loss.detach()} | {name: grad.clone() for name, grad in found.items() if grad is not None}


BATCHES = [([5, 2, 4], 5, [3, 6, 1]), ([7, 3, 1], 7, [4, 2, 6]), ([9, 9, 3, 1, 2], 9, [4, 2, 6, 2, 1])]


@needs_cuda
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_recorded_transformers_learn_the_same(norm: str) -> None:
    pair = transformers(norm)
    batches = [
        (batch(lengths, width, seed), batch(targets, 6, seed + 10))
        for seed, (lengths, width, targets) in enumerate(BATCHES)
    ]
    found = [gradients(pair, *one) for one in batches * 3]
    assert all(replays_of(module).recordings and not replays_of(module).refused for module in pair)
    for place, (source, target) in enumerate(batches):
        with without_fast_paths():
            expected = gradients(pair, source, target)
        for other in found[place :: len(batches)]:
            assert other.keys() == expected.keys()
            for name, grad in expected.items():
                torch.testing.assert_close(other[name], grad, atol=1e-9, rtol=1e-7, msg=name)


@needs_cuda
def test_a_recording_in_use_is_left_alone() -> None:
    """One layer is applied twice before its backward pass, like an encoder that two inputs share."""
    torch.manual_seed(0)
    layer = nn.Linear(4, 4).cuda().double()
    one, two = torch.randn(2, 3, 4, device="cuda", dtype=torch.float64)

    def through(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (layer(x),)

    for _ in range(4):
        layer.zero_grad()
        (replayed(layer, through, one)[0] * replayed(layer, through, two)[0]).sum().backward()
        found = layer.weight.grad.clone()  # type: ignore[union-attr]
        layer.zero_grad()
        (layer(one) * layer(two)).sum().backward()
        torch.testing.assert_close(found, layer.weight.grad)


@needs_cuda
def test_recordings_of_other_shapes_are_left_alone_too() -> None:
    """Recordings of a pool share memory: one of another shape must not overwrite pending results."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 4)).cuda().double()
    one = torch.randn(3, 4, device="cuda", dtype=torch.float64)
    two = torch.randn(5, 4, device="cuda", dtype=torch.float64)

    def through(x: torch.Tensor) -> tuple[torch.Tensor]:
        return (layers(x),)

    for _ in range(7):
        layers.zero_grad()
        first, second = replayed(layers, through, one)[0], replayed(layers, through, two)[0]
        (first.sum() * second.sum()).backward()
        found = [weight.grad.clone() for weight in layers.parameters()]  # type: ignore[union-attr]
        layers.zero_grad()
        (layers(one).sum() * layers(two).sum()).backward()
        torch.testing.assert_close(found, [weight.grad for weight in layers.parameters()])
    assert len(replays_of(layers).recordings) == 2 and len(replays_of(layers).pools) == 2


@needs_cuda
def test_what_cannot_be_recorded_runs() -> None:
    layer = nn.Linear(4, 4).cuda()

    def asking(x: Tensor) -> tuple[Tensor]:
        return (layer(x) * float(x.sum()),)

    given = torch.ones(2, 4, device="cuda")
    for _ in range(4):
        torch.testing.assert_close(replayed(layer, asking, given), asking(given))
        assert (
            torch.randn(3, device="cuda").isfinite().all()
        )  # an aborted recording leaves the generator usable
