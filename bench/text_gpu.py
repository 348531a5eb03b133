"""Text to text on one GPU: a training step of the attention decoder beside a plain PyTorch loop, in one run.

    python bench/text_gpu.py --json result.json           everything, some minutes
    python bench/text_gpu.py --cells gru --layers 1       a part of it
    python bench/text_gpu.py --only decoding              only training steps, decoding, or the rest

Training times forward and backward of the whole model: embeddings, bidirectional encoder, decoder with
additive attention, output layer, loss; width 512, source and target 30, vocabulary 8,000. `plain` is the same
model as a loop over torch's cells; `floor` has no attention, and cuDNN runs its decoder. Milliseconds are
medians of steps between CUDA events; peak memory is that of one step, parameters included.

Decoding times encoding and search, 30 tokens for each of 128 sentences, or for one sentence. The plain loop
decodes greedily and keeps its tokens on the device. Models trained in bf16 search in single precision, so
there is no decoding in bf16.

The bars apply to fp32 and tf32; steps in bf16 are timed for comparison.

The rest times attentions without kernels of their own, recorded as CUDA graphs against the same steps one by
one, and whole updates of an LSTM of 400 units that attends to two inputs (16 and 8 characters → 16, 64 rows,
Adam). Exit status 1 if a bar is missed.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import torch
from text_gpu_models import LENGTH, SIZE, VOCABULARY, Floor, Ours, Plain, TwoInputs
from torch import Tensor, nn
from written import parse, write_json

from regard.data.batch import Tokens
from regard.fast.cuda.recurrence.graphs import forget
from regard.nn.search import Beam, Greedy, Limits

MILLISECONDS = {("fp32", 1): {64: 5.5, 256: 13.5}, ("tf32", 1): {64: 3.5, 256: 7.0}}
MILLISECONDS[("fp32", 2)] = {64: 10.0, 256: 20.0}
TIMES = {64: 4.0, 256: 2.0}
"""{rows: least speed-up over the plain loop}"""
MEMORY = 0.5
"""Maximum memory at 256 rows, relative to the plain loop."""
SEGMENTS = 1.2
"""Maximum time of segmental attention, relative to simple attention."""
LOGITS = 0.25
"""Maximum peak memory of output layer and loss, relative to one tensor of logits."""


SENTENCES = {"greedy": 12_000.0, "beam 5": 8_000.0}
"""Minimum of sentences per second, at 128 rows."""
ONE_SENTENCE = {"greedy": 6.0, "beam 5": 10.0}
"""Maximum of milliseconds for one sentence."""
RECORDED = 1.0
"""Least speed-up of recorded steps over the same steps one by one."""
UPDATES = 100.0
"""Minimum of updates per second of the LSTM with two inputs."""
WITHOUT_KERNELS = [
    ("linear", "softmax"),
    ("location", "softmax"),
    ("perceptron", "softmax"),
    ("additive", "local"),
    ("dot", "sparsemax"),
]


@contextmanager
def precision(name: str) -> Iterator[None]:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name != "fp32"
    with torch.autocast("cuda", torch.bfloat16, enabled=name == "bf16"):
        yield


def measure(model: nn.Module, given: tuple[Any, ...], name: str, rounds: int) -> tuple[float, int]:
    """Milliseconds of a step, and its peak memory in bytes."""

    def step() -> None:
        model.zero_grad(set_to_none=True)
        with precision(name):
            loss = model.loss(*given)  # type: ignore[operator]
        loss.backward()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(rounds + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    return statistics.median(a.elapsed_time(b) for a, b in pairwise(marks)), peak


def tokens(rows: int, length: int) -> Tokens:
    ids = torch.randint(4, VOCABULARY, (rows, length))
    return Tokens(ids, torch.full((rows,), length)).to("cuda")


def output_share() -> float:
    """Memory of output layer and loss beyond their inputs, relative to one tensor of logits."""
    from regard.nn.decoders.output import Output

    forget()
    gc.collect()
    torch.cuda.empty_cache()
    rows, vocabulary = 256 * LENGTH, 32_000
    output = Output(SIZE, vocabulary).cuda()
    given = torch.randn(rows, SIZE, device="cuda", requires_grad=True)
    targets = torch.randint(0, vocabulary, (rows,), device="cuda")
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    output.loss(given, targets, smoothing=0.1)[0].backward()
    return (torch.cuda.max_memory_allocated() - before) / (rows * vocabulary * 4)


def case(cell: str, layers: int, state: str, rows: int, name: str, rounds: int) -> dict[str, Any]:
    """One line of the training table."""
    torch.manual_seed(0)
    source, target = tokens(rows, LENGTH), tokens(rows, LENGTH - 1)
    ids = torch.randint(4, VOCABULARY, (rows, LENGTH), device="cuda")
    plain_given = (source.ids, ids, ids)
    found: dict[str, Any] = {
        "cell": cell,
        "layers": layers,
        "state": state,
        "rows": rows,
        "precision": name,
    }

    def put(key: str, make: Callable[[], nn.Module], given: tuple[Any, ...]) -> None:
        forget()
        gc.collect()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        found[key], peak = measure(make().cuda(), given, name, rounds)
        found[f"{key} MiB"] = (peak - before) / 2**20

    put("ours", lambda: Ours(cell, layers, state), (source, target))
    if name != "bf16":
        put("segments", lambda: Ours(cell, layers, state, "segments"), (source, target))
    put("plain", lambda: Plain(cell, layers, state), plain_given)
    put("floor", lambda: Floor(cell, layers), plain_given)
    return found


def milliseconds(call: Callable[[], Tensor], rounds: int) -> float:
    """Median milliseconds until the result is on the host."""
    for _ in range(6):
        call().cpu()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        call().cpu()
        taken.append(1000 * (time.perf_counter() - start))
    return statistics.median(taken)


@torch.inference_mode()
def decoding(cell: str, name: str, rounds: int) -> dict[str, Any]:
    """One line of the decoding table."""
    torch.manual_seed(0)
    ours, plain = Ours(cell, 1, "previous").cuda().eval(), Plain(cell, 1, "previous").cuda().eval()
    limits = Limits(minimum=LENGTH - 1, maximum=LENGTH - 1)
    searches = {"greedy": Greedy(limits), "beam 5": Beam(5, limits=limits)}
    found: dict[str, Any] = {"cell": cell, "precision": name}
    with precision(name):
        for rows in (128, 1):
            source = tokens(rows, LENGTH)
            for kind, search in searches.items():
                written = ours.write(source, search)
                assert written.shape == (rows, 1, LENGTH), written.shape
                taken = milliseconds(lambda search=search, source=source: ours.write(source, search), rounds)
                found[f"{kind}, {rows}"] = taken
            taken = milliseconds(lambda source=source: plain.greedy(source.ids), rounds)
            found[f"plain greedy, {rows}"] = taken
    return found


def missed_decoding(line: dict[str, Any]) -> list[str]:
    found = []
    for kind, bar in SENTENCES.items():
        if (reached := 128_000 / line[f"{kind}, 128"]) < bar:
            found.append(f"{kind} {reached:,.0f} sentences/s < {bar:,.0f}")
    for kind, bar in ONE_SENTENCE.items():
        if line[f"{kind}, 1"] > bar:
            found.append(f"{kind} {line[f'{kind}, 1']:.1f} ms > {bar:g}")
    return found


def shown_decoding(line: dict[str, Any]) -> str:
    numbers = [128_000 / line[f"{kind}, 128"] for kind in ("greedy", "beam 5", "plain greedy")]
    single = [line[f"{kind}, 1"] for kind in ("greedy", "beam 5", "plain greedy")]
    head = f"{line['cell']:5}  {line['precision']:10}"
    return (
        f"{head}{''.join(f'{n:14,.0f}' for n in numbers)}{''.join(f'{n:12.2f}' for n in single)}  "
        + "; ".join(missed_decoding(line))
    )


def missed(line: dict[str, Any]) -> list[str]:
    rows, ours = line["rows"], line["ours"]
    bar = MILLISECONDS.get((line["precision"], line["layers"]), {}).get(rows)
    found = []
    if bar is not None and ours > bar:
        found.append(f"{ours:.1f} ms > {bar:g}")
    if line["precision"] != "bf16" and line["layers"] == 1 and line["plain"] < TIMES[rows] * ours:
        found.append(f"{line['plain'] / ours:.1f} times plain < {TIMES[rows]:g}")
    if line["precision"] != "bf16" and rows == 256 and line["ours MiB"] > MEMORY * line["plain MiB"]:
        found.append(f"memory {line['ours MiB'] / line['plain MiB']:.2f} of plain's > {MEMORY}")
    if "segments" in line and line["segments"] > SEGMENTS * ours:
        found.append(f"segments {line['segments'] / ours:.2f} times softmax > {SEGMENTS}")
    return found


COLUMNS = ("ours", "segments", "plain", "floor", "ours MiB", "plain MiB")


def shown(line: dict[str, Any]) -> str:
    head = f"{line['cell']:5}{line['layers']:7}  {line['state']:9}{line['rows']:5}  {line['precision']:10}"
    numbers = "".join(f"{line[name]:11.2f}" if name in line else f"{'':11}" for name in COLUMNS)
    return f"{head}{numbers}{line['plain'] / line['ours']:8.1f}  {'; '.join(missed(line))}"


def training(options: argparse.Namespace) -> dict[str, Any]:
    print(f"cell layers  state     rows  precision {''.join(f'{name:>11}' for name in COLUMNS)}  plain/ours")
    lines = []
    for cell in options.cells:
        for layers in options.layers:
            for state in options.state:
                for rows in options.rows:
                    for name in options.precision:
                        line = case(cell, layers, state, rows, name, options.rounds)
                        lines.append(line)
                        print(shown(line), flush=True)
    share = output_share()
    print(f"output layer and loss, vocabulary 32,000: {share:.2f} of the logits' memory (bar {LOGITS})")
    return {"lines": lines, "output share": share}


def all_decoding(options: argparse.Namespace) -> dict[str, Any]:
    names = ("greedy/s", "beam 5/s", "plain greedy/s", "greedy ms", "beam 5 ms", "plain ms")
    print(
        f"cell   precision {''.join(f'{name:>14}' for name in names[:3])}{''.join(f'{n:>12}' for n in names[3:])}"
    )
    lines = []
    for cell in options.cells:
        for name in (one for one in options.precision if one != "bf16"):
            line = decoding(cell, name, options.rounds)
            lines.append(line)
            print(shown_decoding(line), flush=True)
    return {"decoding": lines}


def without_kernels(score: str, select: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of a step, recorded and one by one; fp32, 64 rows."""
    given = (tokens(64, LENGTH), tokens(64, LENGTH - 1))
    found: dict[str, Any] = {"score": score, "select": select}
    for name in ("recorded", "one by one"):
        torch.manual_seed(0)
        model = Ours("gru", 1, "previous", select, score).cuda()
        if name == "one by one":
            model.decoder.unroll = model.decoder.unroll_plain  # type: ignore[method-assign]
        found[name], _ = measure(model, given, "fp32", rounds)
    return found


def two_inputs(rounds: int) -> float:
    """Updates per second: forward, backward, clipping and Adam; fp32."""
    model = TwoInputs().cuda()
    adam = torch.optim.Adam(model.parameters(), fused=True)

    def ids(length: int) -> Tokens:
        return Tokens(torch.randint(4, 60, (64, length)), torch.full((64,), length)).to("cuda")

    given = (ids(16), ids(8), ids(15))
    for update in range(5 + 5 * rounds):
        if update == 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        adam.zero_grad(set_to_none=True)
        model.loss(*given).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
    torch.cuda.synchronize()
    return 5 * rounds / (time.perf_counter() - start)


def the_rest(options: argparse.Namespace) -> dict[str, Any]:
    print("score       select        recorded   one by one   times")
    lines = [without_kernels(score, select, options.rounds) for score, select in WITHOUT_KERNELS]
    for line in lines:
        times = line["one by one"] / line["recorded"]
        print(
            f"{line['score']:12}{line['select']:12}{line['recorded']:10.2f}{line['one by one']:13.2f}{times:8.1f}"
        )
    updates = two_inputs(options.rounds)
    print(f"two inputs, lstm 400, 64 rows: {updates:.0f} updates/s (bar {UPDATES:g})", flush=True)
    return {"without kernels": lines, "two inputs": updates}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    parser.add_argument("--cells", nargs="+", default=["gru", "lstm"])
    parser.add_argument("--layers", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--state", nargs="+", default=["previous", "current"])
    parser.add_argument("--rows", nargs="+", type=int, default=[64, 256])
    parser.add_argument("--precision", nargs="+", default=["fp32", "tf32", "bf16"])
    parser.add_argument("--only", choices=["training", "decoding", "rest"])
    parser.add_argument("--rounds", type=int, default=20)
    options = parse(parser)
    if not torch.cuda.is_available():
        print("There is no GPU here.", file=sys.stderr)
        return 2
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, width {SIZE}, {LENGTH} steps")
    found: dict[str, Any] = {}
    if options.only in (None, "training"):
        found |= training(options)
    if options.only in (None, "decoding"):
        found |= all_decoding(options)
    if options.only in (None, "rest"):
        found |= the_rest(options)
    write_json(options.json, found)
    failed = (
        found.get("output share", 0.0) > LOGITS
        or any(missed(line) for line in found.get("lines", []))
        or any(missed_decoding(line) for line in found.get("decoding", []))
        or any(line["one by one"] < RECORDED * line["recorded"] for line in found.get("without kernels", []))
        or found.get("two inputs", UPDATES) < UPDATES
    )
    print("missed" if failed else "every bar reached")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
