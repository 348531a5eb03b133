"""A training step of the LSTM language model beside plain torch, in one run.

    python bench/lm.py                      2 × 650, V 10,000, 20 rows of 35 tokens on a GPU; smaller on the CPU
    python bench/lm.py --json result.json --precision tf32

`ours` is the step of `regard train`: a batch from the stream, the network, its loss, backward, clipping,
Adam. `bare` is torch.nn.Embedding, torch.nn.LSTM, a linear layer and cross-entropy, with the same dropout,
clipping and Adam, on tokens that are already on the device. The two take turns; the median turn counts.

The second part times the recurrence alone, forward and backward. On the CPU our backward pass is written by
hand (regard.structures.kernels) and compared with autograd through torch's LSTM. On CUDA both sides are cuDNN, whose
backward pass does not use autograd either.

Exit status 1 if a bar is missed. `ours` must make at least 90 % of the steps per second of `bare`; on the CPU
the recurrence written by hand must take no longer than autograd.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from written import parse, write_json

from regard.data import Dataset, Row, StreamBatches
from regard.fast.recurrence import run_on_cpu
from regard.model import LanguageModel
from regard.nn.cells import make_cell
from regard.nn.packing import FullPacking
from regard.nn.recurrence import run_layers
from regard.spec import Spec
from regard.training.machine import make_accelerator
from regard.training.objective import Updater
from regard.training.optimizers import make_optimizer

SHARE = 0.9
"""Minimum of our steps per second, relative to bare torch."""
BY_HAND = 1.0
"""Maximum time of the recurrence written by hand, relative to autograd."""
DROPOUT, CLIP, RATE = 0.5, 0.25, 1e-3


class Bare(nn.Module):
    """The language model in plain torch."""

    def __init__(self, vocabulary: int, size: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        self.lstm = nn.LSTM(size, size, layers, dropout=DROPOUT)
        self.output = nn.Linear(size, vocabulary)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, tokens: Tensor, targets: Tensor, state: Any) -> tuple[Tensor, Any]:
        hidden, state = self.lstm(self.dropout(self.embedding(tokens)), state)
        logits = self.output(self.dropout(hidden))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss, tuple(part.detach() for part in state)


def bare_step(options: argparse.Namespace) -> Callable[[], None]:
    device = options.device
    model = Bare(options.vocabulary, options.size, options.layers).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE, fused=True)
    shape = (options.span + 1, options.rows)
    tokens = torch.randint(4, options.vocabulary, shape, device=device)
    state: list[Any] = [None]

    def step() -> None:
        loss, state[0] = model(tokens[:-1], tokens[1:], state[0])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return step


def our_step(options: argparse.Namespace) -> Callable[[], None]:
    spec = Spec.parse(
        {
            "outputs": {"text": {"type": "stream", "unit": "word"}},
            "decoder": {
                "type": "language",
                "cell": "lstm",
                "size": options.size,
                "embedding": options.size,
                "layers": options.layers,
                "dropout": DROPOUT,
            },
            "training": {"lr": RATE, "clip": CLIP, "span": options.span, "batch_rows": options.rows},
        }
    )
    draw = np.random.default_rng(1)
    words = [f"w{number}" for number in range(options.vocabulary - 4)]
    numbers = draw.integers(0, len(words), options.rows * options.span * 50)
    text = " ".join(words) + " " + " ".join(words[number] for number in numbers)
    model = LanguageModel.build(spec, rows=[{"text": text}])
    assert model.columns["text"].size == options.vocabulary  # type: ignore[attr-defined]
    dataset = Dataset.build([Row({"text": text}, file="made up", line=1)], model.columns.values())
    batches = StreamBatches(dataset, rows=options.rows, span=options.span)
    network = model.network.to(options.device).train()
    accelerator = make_accelerator(options.precision, options.device)
    update = Updater(
        accelerator, network, make_optimizer(network, spec.training.optimizer, spec.training.lr), CLIP
    )
    spans, taken = iter(batches), 0

    def step() -> None:
        nonlocal spans, taken
        batch = next(spans, None)
        if batch is None:
            spans = iter(batches)
            batch = next(spans)
        taken += 1
        update([batch], RATE, taken)

    return step


def recurrences(options: argparse.Namespace) -> dict[str, Callable[[], None]]:
    """Forward and backward of one layer: ours (by hand, or cuDNN on CUDA), and torch's by autograd."""
    device, size, rows, width = options.device, options.size, options.rows, options.span
    cell = make_cell("lstm", size, size).to(device)
    weights = cell.torch_weights()
    inputs = torch.randn(width, rows, size, device=device, requires_grad=True)
    packing = FullPacking.over(rows, width, inputs.device)

    def by_hand() -> None:
        outputs, _ = run_on_cpu([cell], inputs.flatten(0, 1), packing, torch.zeros(rows, 2 * size))
        outputs.sum().backward()

    def by_torch() -> None:
        first = torch.zeros(1, rows, 2 * size, device=device)
        outputs, _ = run_layers([cell], [weights], inputs, first, dropout=0.0, training=True)
        outputs.sum().backward()

    return {"ours": by_torch if device == "cuda" else by_hand, "torch": by_torch}


def seconds(step: Callable[[], None], count: int, device: str) -> float:
    if device == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        step()
    if device == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / count


def in_turns(steps: dict[str, Callable[[], None]], options: argparse.Namespace) -> dict[str, float]:
    """Median milliseconds of each step, taken in turn."""
    for step in steps.values():
        seconds(step, 5, options.device)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(options.turns):
        for name, step in steps.items():
            taken[name].append(1000 * seconds(step, options.steps, options.device))
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cuda = torch.cuda.is_available()
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda" if cuda else "cpu")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--span", type=int, default=35)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--size", type=int, help="default: 650 on a GPU, 200 on the CPU")
    parser.add_argument("--vocabulary", type=int, help="default: 10,000 on a GPU, 2,000 on the CPU")
    parser.add_argument("--precision", choices=("fp32", "tf32"), default="fp32")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--steps", type=int, help="in a turn; default: 20 on a GPU, 3 on the CPU")
    options = parse(parser)
    on_gpu = options.device == "cuda"
    options.size = options.size or (650 if on_gpu else 200)
    options.vocabulary = options.vocabulary or (10_000 if on_gpu else 2_000)
    options.steps = options.steps or (20 if on_gpu else 3)
    torch.manual_seed(1)
    step_times = in_turns({"ours": our_step(options), "bare": bare_step(options)}, options)
    alone = in_turns(recurrences(options), options)
    share, by_hand = step_times["bare"] / step_times["ours"], alone["ours"] / alone["torch"]
    tokens = options.rows * options.span
    setting = (
        f"{options.layers} × {options.size}, V {options.vocabulary:,}, {options.rows} rows of {options.span}"
    )
    table = Table(title=f"{setting}, {options.device} {options.precision}, torch {torch.__version__}")
    for head in ("", "ours, ms", "torch, ms", "ratio", "bar", ""):
        table.add_column(head, justify="left" if head == "" else "right")
    share_met, hand_met = share >= SHARE, on_gpu or by_hand <= BY_HAND
    table.add_row(
        "training step", f"{step_times['ours']:.2f}", f"{step_times['bare']:.2f}",
        f"{100 * share:.0f} % of its speed", f"≥ {100 * SHARE:.0f} %", "met" if share_met else "missed",
    )  # fmt: skip
    table.add_row(
        "recurrence, forward and backward", f"{alone['ours']:.2f}", f"{alone['torch']:.2f}",
        f"{by_hand:.2f} of its time", "cuDNN's both" if on_gpu else f"≤ {BY_HAND:g}",
        "" if on_gpu else "met" if hand_met else "missed",
    )  # fmt: skip
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{1000 * tokens / step_times['ours']:,.0f} tokens a second")
    found = {
        "setting": setting,
        "device": torch.cuda.get_device_name() if on_gpu else "cpu",
        "precision": options.precision,
        "torch": torch.__version__,
        "step_ms": step_times,
        "share_of_bare": share,
        "recurrence_ms": alone,
        "by_hand": by_hand,
    }
    write_json(options.json, found)
    return 0 if share_met and hand_met else 1


if __name__ == "__main__":
    sys.exit(main())
