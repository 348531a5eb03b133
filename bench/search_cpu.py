"""Greedy and beam search on the CPU beside the plainest PyTorch loop, on the same work, in one run.

    OMP_NUM_THREADS=2 python bench/search_cpu.py --json result.json
    OMP_NUM_THREADS=2 python bench/search_cpu.py --cells gru --layers 1

The model of `text_cpu.py`, its weights random; both sides read 20 tokens and write exactly 20, for 64 sentences at once
and for one sentence at a time, in fp32 and, where the CPU has it, in int8 (`search.precision`); the plain loop computes
in fp32. The sides take turns; a ratio is one of medians over the rounds, all sides warm. Exit status 1 if a bar is
missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import written
from plain_cpu import SIZE, TYPES, Plain
from torch import Tensor

ROWS, LENGTH = 64, 20
BARS = {"greedy": 1.5, "beam 5": 2.0, "greedy, one sentence": 2.0, "beam 5, one sentence": 2.0}
"""{task: least ratio}"""
BAR_INT8 = 2.5
"""Least ratio of a search in int8 to the plain loop in fp32."""
SECONDS = 0.25
"""Least duration of a measurement."""
WARM_UP = 8
"""Searches of each side before the first measurement: kernels are compiled, and tables of words made."""


def our_searches(cell: str, layers: int, source: Tensor) -> dict[str, Callable[[Tensor], Any]]:
    """The searches of our model, by name."""
    from regard.data.batch import Tokens
    from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
    from regard.nn.search import Beam, Greedy, Limits

    shape: dict[str, Any] = {"cell": cell, "size": SIZE, "layers": layers}
    encoder = RecurrentEncoder(Embedding(TYPES, SIZE), **shape).eval()
    decoder = RecurrentDecoder(
        Embedding(TYPES, SIZE),
        {"source": encoder},
        attention={"source": Attention(SIZE, encoder.value_size, score="additive")},
        state="current",
        **shape,
    ).eval()
    limits = Limits(minimum=LENGTH - 1, maximum=LENGTH - 1)

    def run(search: Any) -> Callable[[Tensor], Any]:
        @torch.inference_mode()
        def write(source: Tensor) -> Any:
            tokens = Tokens(source, torch.full((len(source),), source.shape[1]))
            return decoder.predict({"source": encoder(tokens)}, search)

        return write

    return {
        f"{name}{'' if precision == 'fp32' else ', ' + precision}": run(search)
        for precision in precisions()
        for name, search in (
            ("greedy", Greedy(limits, precision)),
            ("beam 5", Beam(5, limits=limits, precision=precision)),
        )
    }


def precisions() -> tuple[str, ...]:
    """Those in which this CPU searches."""
    from regard.fast.whole_search import bytes_lack

    return ("fp32",) if bytes_lack() else ("fp32", "int8")


def rate(call: Callable[[Tensor], Any], source: Tensor) -> float:
    """Sentences per second."""
    begun, done = time.perf_counter(), 0
    while (passed := time.perf_counter() - begun) < SECONDS:
        call(source)
        done += len(source)
    return done / passed


def compare(cell: str, layers: int, rounds: int) -> dict[str, dict[str, float]]:
    """{task: the medians of both sides, and their ratio}."""
    torch.manual_seed(0)
    source = torch.randint(4, TYPES, (ROWS, LENGTH))
    plain, ours = Plain(cell, layers).eval(), our_searches(cell, layers, source)
    plainly: dict[str, Callable[[Tensor], Any]] = {
        "greedy": lambda source: plain.greedy(source, LENGTH),
        "beam 5": lambda source: plain.beam(source, LENGTH),
    }
    found: dict[str, dict[str, float]] = {}
    for task, bar in BARS.items():
        given, name = source[:1] if "one" in task else source, task.split(",")[0]
        sides = {
            precision: ours[name if precision == "fp32" else f"{name}, {precision}"]
            for precision in precisions()
        }
        sides["plain"] = plainly[name]
        rates: dict[str, list[float]] = {side: [] for side in sides}
        for search in sides.values():
            for _ in range(WARM_UP):
                search(given)
        for _ in range(rounds):
            for side, search in sides.items():
                rates[side].append(rate(search, given))
        plain_ = median(rates["plain"])
        for precision in precisions():
            ours_, int8 = median(rates[precision]), precision != "fp32"
            least = BAR_INT8 if int8 else bar
            row = {"ours": ours_, "plain": plain_, "ratio": ours_ / plain_, "bar": least}
            found[f"{task}, {precision}" if int8 else task] = row
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--cells", nargs="+", choices=("gru", "lstm"), default=["gru", "lstm"])
    parser.add_argument("--layers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    options = written.parse(parser)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; sentences per second", flush=True)
    print(f"{'cell':5} {'layers':>6} {'task':28} {'ours':>8} {'plain':>8} {'ratio':>6} {'bar':>5}")
    results: list[dict[str, Any]] = []
    for cell in options.cells:
        for layers in options.layers:
            for task, row in compare(cell, layers, options.rounds).items():
                results.append({"cell": cell, "layers": layers, "task": task, **row})
                print(
                    f"{cell:5} {layers:6} {task:28} {row['ours']:8.1f} {row['plain']:8.1f} {row['ratio']:6.2f} "
                    f"{row['bar']:5.1f}",
                    flush=True,
                )
    missed = [row for row in results if row["ratio"] < row["bar"]]
    written.write_json(options.json, {"torch": str(torch.__version__), "results": results})
    if missed:
        print(f"Missed: {len(missed)} of {len(results)}.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
