"""Steps of a Transformer decoder on CUDA must equal plain ones: logits, attention, reordered and chosen hypotheses.

`test_cached_step.py` runs this file in a separate process: on a GPU as is, elsewhere with TRITON_INTERPRET=1.
"""

from __future__ import annotations

import pytest
import torch

from regard.fast.cached import start, step
from regard.fast.cached_cuda import advance_on_cuda
from regard.nn.path import without_fast_paths
from tests.kernels.cached_models import KINDS, decoder_and_memories
from tests.quick_interpreter import exchange_once

exchange_once()
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("kind", KINDS if torch.cuda.is_available() else ["one layer"])
@torch.no_grad()
def test_kernels_give_what_plain_steps_give(kind: str) -> None:
    decoder, memories = decoder_and_memories(kind, DEVICE)
    with without_fast_paths():
        plain = decoder.start(memories)
    state, count = start(decoder, memories).in_a_line(), 1
    for number in range(3):
        tokens = torch.randint(4, 11, (len(state.mask), count), device=DEVICE)
        with without_fast_paths():
            expected = decoder.step(tokens, plain, memories)
        found = step(decoder, tokens, state, memories, advance_on_cuda)
        torch.testing.assert_close(found.logits, expected.logits, rtol=1e-4, atol=1e-5)
        for name in decoder.names:
            torch.testing.assert_close(found.looks[name], expected.looks[name], rtol=1e-4, atol=1e-5)
        parents = torch.randint(0, count, (len(tokens), 2), device=DEVICE)
        plain, state, count = expected.state.reorder(parents), found.state.reorder(parents), 2
        if number == 1:
            rows = torch.tensor([2, 0], device=DEVICE)
            memories = {name: memory.select(rows) for name, memory in memories.items()}
            plain, state = plain.select(rows), state.select(rows)
