"""The measured size of a batch and the learning-rate finder, on networks whose best choice is known."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

import regard
from regard.data.batch import Batch
from regard.nn.loss import Loss
from regard.spec.sections import TrainingSpec
from regard.training import batch_size
from regard.training.batch_size import choose_batch_tokens
from regard.training.rate_finder import find_rate


class Clock:
    """A clock that only networks move."""

    now = 0.0

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter


class Slow(nn.Module):
    """Needs 4 ms for a batch and 1 µs for each token."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.weight, self.clock = nn.Parameter(torch.ones(())), clock

    def __deepcopy__(self, memo: object) -> Slow:
        return Slow(self.clock)

    def forward(self, batch: Batch) -> dict[str, Loss]:
        self.clock.now += 0.004 + 1e-6 * batch.cost
        return {"line": Loss(self.weight * 1.0, torch.tensor(1))}


def of_size(size: int) -> Iterator[Batch]:
    return iter([Batch({}, (0,), size)] * 9)


@pytest.mark.parametrize(
    ("total", "chosen", "limit"), [(10**9, 32000, "throughput"), (60_000, 1000, "updates")]
)
def test_the_smallest_size_that_is_nearly_as_fast_as_the_best(
    total: int, chosen: int, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tokens per second are 1 / (1e-6 + 0.004 / size): 889,000 of 32,000 tokens and 985,000 of 256,000, the last size
    that is tried."""
    clock = Clock()
    monkeypatch.setattr(batch_size, "time", clock)
    network = Slow(clock)
    found = choose_batch_tokens(network, of_size, total=total, options=TrainingSpec(), device="cpu")
    assert (found.tokens, found.limit) == (chosen, limit)
    for one in found.tried:
        assert one.throughput == pytest.approx(1 / (1e-6 + 0.004 / one.tokens))
    assert network.weight.item() == 1.0 and network.weight.grad is None


def test_a_measured_run_has_the_bits_of_one_with_the_same_number(tmp_path: Path) -> None:
    rows = [(f"w{n % 5} v{n % 3}", "ab"[n % 2]) for n in range(60)]
    options = {"encoder": {"size": 8, "dropout": 0.2}, "dev": rows[:10], "quiet": True, "device": "cpu"}
    measured = regard.fit(rows, run=tmp_path / "a", training={"steps": 3, "batch_tokens": "auto"}, **options)
    number = measured.spec.training.batch_tokens
    assert (
        number
        == measured.metrics["training"]["batch"]["tokens"]
        == regard.load(tmp_path / "a").spec.training.batch_tokens
    )
    regard.fit(rows, run=tmp_path / "b", training={"steps": 3, "batch_tokens": number}, **options)
    first, second = ((tmp_path / run / "model.safetensors").read_bytes() for run in "ab")
    assert first == second


class Bowl(nn.Module):
    """The loss 25 w²: plain gradient descent diverges at rates above 2 / 50."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, batch: Batch) -> dict[str, Loss]:
        return {"bowl": Loss(25 * self.weight**2, torch.tensor(1))}


def test_the_suggested_rate_is_well_below_that_which_diverges() -> None:
    network = Bowl()
    options = TrainingSpec.model_validate({"optimizer": "sgd", "clip": None})
    found = find_rate(network, lambda epoch: of_size(1), options=options, device="cpu")
    assert found.suggestion == pytest.approx(found.lowest / 10, rel=0.06)
    assert 0.002 < found.suggestion < 0.02
    assert found.rates[-1] < 1.0 and len(found.rates) == len(found.losses)  # it ended when the loss rose
    assert network.weight.item() == 1.0
