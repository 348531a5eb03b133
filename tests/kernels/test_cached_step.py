"""Steps of a Transformer decoder with kernels between its products equal plain steps."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from regard.fast.cached import start, step
from regard.nn.path import paths, without_fast_paths
from regard.nn.search import Beam, Greedy, Limits
from tests.kernels.cached_models import KINDS, decoder_and_memories


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_steps_equal_plain_ones(kind: str) -> None:
    decoder, memories = decoder_and_memories(kind)
    with without_fast_paths():
        plain = decoder.start(memories)
    state, count = start(decoder, memories).in_a_line(), 1
    for number in range(20):  # beyond a block of positions
        tokens = torch.randint(4, 11, (len(state.mask), count))
        with without_fast_paths():
            expected = decoder.step(tokens, plain, memories)
        found = step(decoder, tokens, state, memories)
        torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-5)
        for name in decoder.names:
            torch.testing.assert_close(found.looks[name], expected.looks[name], rtol=1e-4, atol=1e-5)
        parents = torch.randint(0, count, (len(tokens), 3))
        plain, state, count = expected.state.reorder(parents), found.state.reorder(parents), 3
        if number == 12:
            rows = torch.tensor([2, 0])
            memories = {name: memory.select(rows) for name, memory in memories.items()}
            plain, state = plain.select(rows), state.select(rows)


@torch.no_grad()
def test_a_state_can_be_continued_twice() -> None:
    decoder, memories = decoder_and_memories("pre")
    tokens, other = torch.tensor([[4], [5], [6]]), torch.tensor([[7], [8], [9]])
    state = step(decoder, tokens, start(decoder, memories), memories).state
    first = step(decoder, tokens, state, memories)
    step(decoder, other, state, memories)
    again = step(decoder, tokens, state, memories)
    assert torch.equal(first.logits, again.logits)
    following = [step(decoder, other, one.state, memories).logits for one in (first, again)]
    assert torch.equal(*following)


@torch.no_grad()
def test_changed_weights_are_used() -> None:
    decoder, memories = decoder_and_memories("pre")
    tokens = torch.tensor([[4], [5], [6]])
    before = step(decoder, tokens, start(decoder, memories), memories).logits
    decoder.layers[0].itself.value.weight.mul_(-1)
    with without_fast_paths():
        expected = decoder.step(tokens, decoder.start(memories), memories).logits
    found = step(decoder, tokens, start(decoder, memories), memories).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found, before, atol=1e-3)


@pytest.mark.parametrize("search", [Greedy(Limits(maximum=20)), Beam(3, best=2, limits=Limits(maximum=20))])
@torch.no_grad()
def test_searches_find_what_plain_ones_find(search: Greedy | Beam) -> None:
    decoder, memories = decoder_and_memories("pre")
    (path,) = (one for one in paths("transformer.step", "cpu"))
    assert path.takes(decoder, memories)  # numba was loaded by the tests above
    found = decoder.predict(memories, search)
    with without_fast_paths():
        expected = decoder.predict(memories, search)
    assert torch.equal(found.tokens, expected.tokens)
    torch.testing.assert_close(found.scores, expected.scores, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(found.attention["source"], expected.attention["source"], rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_what_the_kernels_do_not_compute_is_refused() -> None:
    (path,) = (one for one in paths("transformer.step", "cpu"))
    decoder, memories = decoder_and_memories("pre")
    decoder.layers[1].second.norm.register_forward_hook(lambda *given: None)
    assert path.why_not(decoder, memories) == "The decoder or a layer in it was changed."
    decoder, memories = decoder_and_memories("pre")
    assert path.why_not(decoder.train(), memories) == "The decoder is in training."


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_kernels_of_cuda_equal_plain_steps() -> None:
    file = Path(__file__).with_name("interpreted_cached.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout  # some have run
