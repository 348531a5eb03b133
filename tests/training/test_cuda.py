"""Training on a GPU: half precision with its scaler, and the generators of the device."""

from __future__ import annotations

import csv
import signal
from pathlib import Path

import pytest
import torch

import regard
from regard.data.batch import Batch
from regard.spec.sections import TrainingSpec
from regard.training import Interrupted, Progress, fit, seed_everything
from regard.training.checkpoint import STATE, read
from regard.training.machine import sent_ahead

from .tiny import TinyBatches, TinyNetwork

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def train(run: Path, *, resume: bool = False, stop_at: int | None = None, **options: object) -> list[float]:
    seed_everything(int(options.get("seed", 1)))  # type: ignore[call-overload]
    network = TinyNetwork()
    stop = {} if stop_at is None else {stop_at: lambda: signal.raise_signal(signal.SIGTERM)}
    fit(
        network,
        TinyBatches(at_batch=stop),
        options=TrainingSpec(**{"epochs": 4, "lr": 0.02, **options}),
        run=run,
        save_model=lambda folder: None,
        resume=resume,
        progress=Progress(),
        device="cuda",
    )
    assert next(network.parameters()).is_cuda
    with (run / "log.csv").open() as file:
        return [float(row["loss.tags"]) for row in csv.DictReader(file) if row["loss.tags"]]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
def test_every_precision_learns(tmp_path: Path, precision: str, learning_seed: int) -> None:
    losses = train(tmp_path, precision=precision, seed=1 + learning_seed)
    assert losses[0] > 1.0 and losses[-1] < 0.3


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_stopped_run_goes_on_with_the_same_dropout(tmp_path: Path, precision: str) -> None:
    whole = train(tmp_path / "whole", precision=precision)
    with pytest.raises(Interrupted):
        train(tmp_path / "parts", precision=precision, stop_at=20)
    parts = train(tmp_path / "parts", precision=precision, resume=True)
    assert parts == pytest.approx(whole, rel=1e-3)
    one, other = (read(tmp_path / run / STATE)[0] for run in ("whole", "parts"))
    assert torch.equal(one["generators/0/cuda"], other["generators/0/cuda"])


def test_training_goes_on_after_a_measurement(tmp_path: Path) -> None:
    """Tensors that an evaluation leaves on the device, in inference mode, must not break the next update."""
    sizes = [
        f"data.world.{split}={count}"
        for split, count in (("train", 200), ("dev", 20), ("test", 20), ("long", 20))
    ]
    changes = [*sizes, "training.epochs=null", "training.steps=12", "training.evaluate_every=4"]
    model = regard.fit("reverse", run=tmp_path / "run", overrides=changes, device="cuda", quiet=True)
    assert model.metrics["training"]["steps"] == 12


def test_batches_are_sent_ahead_and_whole() -> None:
    """Each batch has its own values when it is read, although the device is slower than the sender."""
    made = [Batch({"x": torch.full((1 << 16,), number)}, rows=(number,), cost=1) for number in range(40)]
    slow = torch.randn(2000, 2000, device="cuda")
    found = []
    for batch in sent_ahead(iter(made), torch.device("cuda")):
        for _ in range(5):
            slow = torch.nn.functional.normalize(slow @ slow)
        found.append(batch["x"].sum())
        del batch
    assert torch.stack(found).tolist() == [number << 16 for number in range(40)]
