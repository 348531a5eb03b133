"""The cost of a training step with each selection: simple (softmax), sigmoid and segmental attention.

    python bench/structured_attention.py                     on the CPU, (B, S, T, D, V) = (32, 30, 15, 256, 4000)
    python bench/structured_attention.py --device cuda       on a GPU, (64, 50, 20, 512, 8000)

One step is forward, backward, clipping and Adam of a translation model: a bidirectional GRU over S words and
a GRU decoder of T words that attends from its current state, with D units and V words on both sides. The
context is fed to the next step or not; without feeding, training computes all steps at once. The models take
turns, step by step, so that other load on the machine affects all of them; the medians are compared. Prints a
table, writes it with --json FILE. Exit status 1 if segmental attention costs more than 1.5 times simple
attention in the same model.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from written import parse, write_json

from regard.data import SPECIAL, Tokens
from regard.model.saving import versions
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder

BAR = 1.5
MODELS = {
    "general": ("general", True),
    "general, not fed": ("general", False),
    "additive": ("additive", True),
}
"""The score, and whether the context is fed to the next step."""
SELECTIONS = {"simple": "softmax", "sigmoid": "sigmoid", "segments": "segments"}


@dataclass(frozen=True)
class Size:
    """Rows, source words, target words, units, words in each vocabulary."""

    B: int
    S: int
    T: int
    D: int
    V: int


SIZES = {"cpu": Size(32, 30, 15, 256, 4000), "cuda": Size(64, 50, 20, 512, 8000)}


def make_step(select: str, score: str, feeding: bool, size: Size, device: str) -> Callable[[], None]:
    """Build a model with this selection; return one training step on one batch of random words."""
    torch.manual_seed(1)
    encoder = RecurrentEncoder(Embedding(size.V, size.D), size=size.D // 2)
    decoder = RecurrentDecoder(
        Embedding(size.V, size.D),
        {"source": encoder},
        size=size.D,
        attention={"source": Attention(size.D, encoder.value_size, score=score, select=select)},
        state="current",
        feed=feeding,
    )
    network = nn.ModuleList([encoder, decoder]).to(device)
    optimizer = torch.optim.Adam(network.parameters(), fused=device == "cuda")
    source, target = _words(size.B, size.S, size, device), _words(size.B, size.T - 1, size, device)
    selection: Any = decoder.reading.attention("source").select if decoder.reading else None

    def step() -> None:
        loss = decoder.loss({"source": encoder(source)}, target).mean
        if hasattr(selection, "penalty"):
            loss = loss + selection.penalty()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def _words(rows: int, length: int, size: Size, device: str) -> Tokens:
    """Rows of random words, all of full length; the decoder appends END to the target."""
    ids = torch.randint(len(SPECIAL), size.V, (rows, length))
    return Tokens(ids, torch.full((rows,), length)).to(device)


def measure(steps: dict[str, Callable[[], None]], device: str, rounds: int) -> dict[str, float]:
    """Median seconds of each step over the rounds; the steps take turns."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for turn in range(rounds + 3):
        for name, step in steps.items():
            wait()
            begun = time.perf_counter()
            step()
            wait()
            if turn >= 3:  # the first steps compile kernels and fill the allocator
                taken[name].append(time.perf_counter() - begun)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", choices=list(SIZES), default="cpu")
    parser.add_argument("--only", nargs="+", choices=list(MODELS), default=list(MODELS), help="these models")
    parser.add_argument("--rounds", type=int, default=20)
    options = parse(parser)
    size = SIZES[options.device]
    console = Console(highlight=False)
    table = Table(box=None, header_style="bold", pad_edge=False, title=f"{size} on {options.device}")
    for head in ("model", "attention", "ms a step", "of simple", "bar", ""):
        table.add_column(head, justify="left" if head in ("model", "attention", "") else "right")
    rows, missed = [], 0
    for model in options.only:
        steps = {
            name: make_step(select, *MODELS[model], size, options.device)
            for name, select in SELECTIONS.items()
        }
        seconds = measure(steps, options.device, options.rounds)
        for name, taken in seconds.items():
            ratio = taken / seconds["simple"]
            met = name != "segments" or ratio <= BAR
            missed += not met
            rows.append({"model": model, "attention": name, "seconds": taken, "ratio": ratio, "met": met})
            verdict = ("[green]ok[/green]" if met else "[red]MISSED[/red]") if name == "segments" else ""
            bar = f"{BAR:g}" if name == "segments" else ""
            table.add_row(model, name, f"{1000 * taken:.1f}", f"{ratio:.2f}", bar, verdict)
    console.print(table)
    found = {"device": options.device, "size": vars(size), "rows": rows, "versions": versions()}
    write_json(options.json, found)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
