"""Training on the CPU: an attention encoder-decoder beside the plainest PyTorch loop, in turns in one process.

    python bench/training_cpu.py --json result.json
    python bench/training_cpu.py --cell lstm --layers 2

The models are those of `plain_cpu.py` and `text_cpu.py`: 64 sentences of 20 tokens, 4,000 types, Adam 1e-3, clipping at
1. An update is the forward and backward pass, the clipping and the optimizer's step. The sides take turns, `--updates`
updates at a time; rates are medians over the rounds, ratios are of medians. Exit status 1 if a ratio misses the bar.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from written import parse, write_json

BAR = 1.5
"""Least ratio of our target tokens per second to the plain loop's."""
ROWS, LENGTH, TYPES, SIZE = 64, 20, 4_000, 256
WARM_UP = 3


def plain_update(cell: str, layers: int) -> Callable[[], None]:
    import torch
    from plain_cpu import Plain

    torch.manual_seed(0)
    model = Plain(cell, layers)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3)
    source, target = torch.randint(4, TYPES, (ROWS, LENGTH)), torch.randint(4, TYPES, (ROWS, LENGTH + 1))

    def update() -> None:
        optimizer.zero_grad()
        model.loss(source, target).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return update


def our_update(cell: str, layers: int) -> Callable[[], None]:
    """Through the public names of `regard.data`, `regard.nn` and `regard.training`, as `regard train` does."""
    import torch

    from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder

    torch.manual_seed(0)
    shape: dict[str, Any] = {"cell": cell, "size": SIZE, "layers": layers}
    encoder = RecurrentEncoder(Embedding(TYPES, SIZE), **shape)
    attention = Attention(SIZE, encoder.value_size, score="additive")
    decoder = RecurrentDecoder(
        Embedding(TYPES, SIZE), {"src": encoder}, attention={"src": attention}, state="current", **shape
    )
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    source, target = _tokens(), _tokens()  # the decoder adds END

    def update() -> None:
        optimizer.zero_grad()
        decoder.loss({"src": encoder(source)}, target).mean.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()

    return update


def _tokens() -> Any:
    import torch

    from regard.data import Tokens

    return Tokens(torch.randint(4, TYPES, (ROWS, LENGTH)), torch.full((ROWS,), LENGTH))


def rates(cell: str, layers: int, options: argparse.Namespace) -> dict[str, list[float]]:
    """Target tokens per second of both sides, by round."""
    updates = {"plain": plain_update(cell, layers), "ours": our_update(cell, layers)}
    found: dict[str, list[float]] = {side: [] for side in updates}
    for _ in range(WARM_UP):
        for update in updates.values():
            update()
    for _ in range(options.rounds):
        for side, update in updates.items():
            update()  # the caches hold the other side's weights
            begun = time.perf_counter()
            for _ in range(options.updates):
                update()
            taken = time.perf_counter() - begun
            found[side].append(options.updates * ROWS * (LENGTH + 1) / taken)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--cell", choices=("gru", "lstm"), nargs="+", default=["gru", "lstm"])
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--updates", type=int, default=4, help="updates of one side before the other's turn")
    parser.add_argument("--rounds", type=int, default=7)
    options = parse(parser)

    import torch

    torch.set_num_threads(options.threads)
    print(f"torch {torch.__version__}, {options.threads} threads, target tokens per second")
    print(f"{'cell':5} {'layers':>6} {'ours':>8} {'plain':>8} {'ratio':>6} {'bar':>5}")
    cases, missed = [], []
    for cell in options.cell:
        for layers in options.layers:
            found = rates(cell, layers, options)
            ours, plain = median(found["ours"]), median(found["plain"])
            print(
                f"{cell:5} {layers:6} {ours:8,.0f} {plain:8,.0f} {ours / plain:6.2f} {BAR:5.2f}", flush=True
            )
            cases.append({"cell": cell, "layers": layers, "ratio": ours / plain, "bar": BAR, "rounds": found})
            if ours / plain < BAR:
                missed.append(f"{cell} with {layers}")
    torch_version, threads = str(torch.__version__), options.threads
    write_json(options.json, {"torch": torch_version, "threads": threads, "cases": cases, "missed": missed})
    if missed:
        print(f"Missed: {', '.join(missed)}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
