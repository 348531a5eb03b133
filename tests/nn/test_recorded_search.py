"""Several steps per call give the results of single steps: on the CPU by direct calls, on CUDA as graphs."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import END
from regard.fast.paths.recorded_beam import beam_in_chunks
from regard.fast.paths.recorded_tokens import written_in_chunks
from regard.fast.recording.replay import recorder_of
from regard.nn import Embedding, MeanEncoder
from regard.nn.decoders.transformer import TransformerDecoder
from regard.nn.search import Beam, Greedy, Limits, Sample, Stepper
from regard.nn.search.greedy import MostProbable
from regard.nn.search.token_by_token import token_by_token

from .conftest import VOCABULARY, model, tokens

ROWS = [[4, 5, 6, 7, 8], [9, 4], [10, 6, 4, 4], [5], [7, 7, 7, 9, 10, 4, 4, 5, 6], [8, 5, 6], [6, 6], [10]]
KINDS = {
    "gru": {},
    "current": {"state": "current"},
    "every step": {"condition": ("start", "every-step", "attention")},
    "two layers of lstm": {"cell": "lstm", "layers": 2},
    "location": {"score": "location"},
    "local": {"select": "local"},
    "segments": {"select": "segments"},
    "no attention": {"condition": ("start",)},
    "transformer": {},
}
LIMITS = {"free": Limits(), "short": Limits(maximum=3), "long": Limits(minimum=9, maximum=11)}
FIELDS = ("tokens", "lengths", "scores", "token_scores", "attention")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")


def stepper_of(kind: str, rows=ROWS, *, ending: float = 0.5, device: str = "cpu", seed: int = 5) -> Stepper:
    if kind == "transformer":
        torch.manual_seed(seed)
        encoder = MeanEncoder(Embedding(VOCABULARY, 6))
        decoder = TransformerDecoder(
            Embedding(VOCABULARY, 8), {"source": encoder}, size=8, layers=2, heads=2, hidden=12
        )
    else:
        encoder, decoder = model(seed=seed, **KINDS[kind])
    with torch.no_grad():
        decoder.output.bias[END] += ending
    encoder, decoder = encoder.to(device).eval(), decoder.to(device).eval()
    return Stepper(decoder, {"source": encoder(tokens(*rows).to(device))})


def same(found, expected) -> None:
    for field in FIELDS[:2]:
        assert torch.equal(getattr(found, field), getattr(expected, field)), field
    for field in FIELDS[2:]:
        torch.testing.assert_close(getattr(found, field), getattr(expected, field), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("limits", LIMITS)
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_find_what_single_steps_find(kind: str, limits: str) -> None:
    stepper, beam = stepper_of(kind), Beam(size=3, best=2, limits=LIMITS[limits])
    bounds = beam.limits.of(stepper)
    with torch.inference_mode():
        greedy = written_in_chunks(stepper, MostProbable(), bounds)
        several = beam_in_chunks(beam, stepper, bounds)
    same(greedy, token_by_token(stepper, MostProbable(), steps=bounds.steps, bounds=bounds))
    same(several, beam.step_by_step(stepper, bounds))


def test_a_score_that_is_not_finite_is_left_to_single_steps() -> None:
    stepper = stepper_of("gru")
    with torch.no_grad():
        stepper.decoder.output.bias.fill_(torch.nan)
    bounds = Limits().of(stepper)
    assert written_in_chunks(stepper, MostProbable(), bounds) is None
    assert beam_in_chunks(Beam(size=2), stepper, bounds) is None


SEARCHES = {
    "greedy": Greedy(),
    "beam": Beam(size=3, best=3),
    "sampling": Sample(samples=3, seed=2, keys=range(8), top_p=0.9),
}


@needs_cuda
@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("kind", KINDS)
def test_graphs_find_what_single_steps_find(kind: str, name: str, monkeypatch) -> None:
    first = stepper_of(kind, device="cuda")
    batches = [ROWS, ROWS[::-1], ROWS[:5], [[4, 4, 5, 6, 6, 7, 8, 9, 10, 4, 5, 6]] * 7]
    steppers = [Stepper(first.decoder, stepper_of(kind, rows, device="cuda").memories) for rows in batches]
    search = SEARCHES[name]
    found = [search(stepper) for stepper in steppers * 3]  # the third time, everything is a replay
    assert recorder_of(first.decoder).replays.recordings.known
    monkeypatch.setattr("regard.fast.chunks.takes", lambda *_: False)
    expected = [search(stepper) for stepper in steppers]
    for place, one in enumerate(found):
        same(one, expected[place % len(expected)])


@needs_cuda
def test_recordings_see_new_weights() -> None:
    stepper, other = stepper_of("gru", device="cuda"), stepper_of("gru", device="cuda", seed=6)
    for _ in range(3):
        Greedy()(stepper)
    with torch.no_grad():
        for parameter, theirs in zip(stepper.decoder.parameters(), other.decoder.parameters(), strict=True):
            parameter.copy_(theirs)
    same(Greedy()(Stepper(stepper.decoder, other.memories)), Greedy()(other))


@needs_cuda
def test_a_part_that_asks_the_device_is_served_step_by_step() -> None:
    stepper = stepper_of("gru", device="cuda")
    expected = Greedy()(stepper)
    step = stepper.decoder.step

    def asking(*given):
        answer = step(*given)
        assert float(answer.logits.sum()) < 1e9
        return answer

    stepper.decoder.step = asking
    for _ in range(4):
        same(Greedy()(stepper), expected)
    assert torch.ones(3, device="cuda").sum() == 3  # the device still works
