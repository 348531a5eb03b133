"""Attention without CUDA kernels of its own is recorded as is, with the same numbers as step by step."""

from __future__ import annotations

import pytest
import torch

from regard.data.batch import Tokens
from regard.fast.paths import recorded
from regard.fast.recording.replayed_gradient import replays_of
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.packing import forced

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CASES = [
    {"score": "linear"},
    {"score": "location"},
    {"score": "history"},
    {"score": "perceptron"},
    {"select": "local"},
    {"select": "sparsemax"},
    {"select": "uniform"},
    {"cell": "mrnn"},
    {"cell": "deep"},
    {"layers": 2, "residual": True},
]


def tokens(*rows: list[int]) -> Tokens:
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    return Tokens(ids, torch.tensor([len(row) for row in rows])).to(DEVICE)


SOURCE, TARGET = tokens([4, 5, 6, 7, 8], [9, 4], [10, 6, 4]), tokens([5, 6], [7, 8, 9, 10], [4])


@pytest.mark.parametrize("case", CASES, ids=["-".join(map(str, case.values())) for case in CASES])
@pytest.mark.parametrize("state", ["previous", "current"])
def test_equals_step_by_step(case: dict[str, object], state: str) -> None:
    torch.manual_seed(0)
    options = dict(case)
    score, select = options.pop("score", "additive"), options.pop("select", "softmax")
    encoder = RecurrentEncoder(Embedding(11, 5), size=4)
    attention = {"source": Attention(8, 8, score=score, select=select)}
    decoder = RecurrentDecoder(
        Embedding(11, 5), {"source": encoder}, size=8, attention=attention, state=state, **options
    )
    both = torch.nn.ModuleList([encoder, decoder]).to(DEVICE, torch.float64)
    previous, _, packing = forced(TARGET)
    results = []
    for run in (decoder.unroll_plain, *[lambda *given: recorded.unroll(decoder, *given)] * 4):
        memories = {"source": encoder(SOURCE)}
        assert not recorded.lacks(decoder, memories)
        found = run(memories, previous, packing)
        torch.manual_seed(1)
        parts = [found.readouts, found.looks["source"]]
        drawn = [torch.randn(part.shape, dtype=torch.float64).to(DEVICE) for part in parts]
        total = sum((part * factor).sum() for part, factor in zip(parts, drawn, strict=True))
        gradients = torch.autograd.grad(total, list(both.parameters()), allow_unused=True)  # type: ignore[arg-type]
        results.append([*parts, *gradients])
    if DEVICE == "cuda":
        assert replays_of(decoder).recordings, replays_of(decoder).refused
    for found in results[1:]:
        for one, expected in zip(found, results[0], strict=True):
            if expected is None:
                assert one is None or not one.abs().max()
            else:
                torch.testing.assert_close(one, expected, rtol=1e-9, atol=1e-10)


def test_what_copies_or_draws_is_left_to_others() -> None:
    encoder = RecurrentEncoder(Embedding(11, 5), size=4)
    memories = {"source": encoder(tokens([4, 5]))} if DEVICE == "cpu" else {}
    decoder = RecurrentDecoder(
        Embedding(11, 5), {"source": encoder}, size=8, attention={"source": Attention(8, 8, select="oracle")}
    )
    assert recorded.lacks(decoder, memories or {"source": encoder.to(DEVICE)(tokens([4, 5]))})
