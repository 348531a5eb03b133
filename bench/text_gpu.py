"""Text to text on one GPU: a training step of the attention decoder beside a plain PyTorch loop, in one run.

    python bench/text_gpu.py --json result.json           everything, some minutes
    python bench/text_gpu.py --cells gru --layers 1       a part of it
    python bench/text_gpu.py --only decoding              training steps, decoding, or the rest alone

Forward and backward of the whole model: embeddings, bidirectional encoder, decoder with additive attention over every
position, output layer, loss; width 512, source and target 30, vocabulary 8,000. `plain` is the same model as a loop of
torch's cells, `floor` the same without attention, its decoder run by cuDNN. Milliseconds are medians of steps between
CUDA events; peak memory is that of one step, parameters included.

Decoding is encoding and search, 30 tokens for each of 128 sentences, or of one; the plain loop decodes greedily, and
keeps its tokens on the device. A model that was trained in bf16 searches in single precision, so bf16 is not decoded.

The bars are of fp32 and tf32; steps in bf16 are timed beside them.

The rest: attentions without kernels of their own, recorded as they stand, beside the same steps one by one; whole
updates of an LSTM of 400 units that attends to two inputs (16 and 8 characters → 16, 64 rows, Adam). Exit status 1: a
bar was missed.
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
import torch.nn.functional as F
from torch import Tensor, nn
from written import parse, write_json

from regard.data.batch import Tokens
from regard.kernels.cuda.recurrence.graphs import forget
from regard.nn import Attention, Embedding, RecurrentDecoder, RecurrentEncoder
from regard.nn.search import Beam, Greedy, Limits

SIZE, VOCABULARY, LENGTH = 512, 8_000, 30
MILLISECONDS = {("fp32", 1): {64: 7.0, 256: 14.0}, ("tf32", 1): {64: 5.0, 256: 9.0}}
MILLISECONDS[("fp32", 2)] = {64: 10.0, 256: 20.0}
TIMES = {64: 4.0, 256: 2.0}
"""How many times the plain loop."""
MEMORY = 0.5
"""Of the plain loop's, at 256 rows."""
SEGMENTS = 1.2
"""Segmental attention by simple attention."""
LOGITS = 0.25
"""Peak memory of output layer and loss by one full tensor of logits, vocabulary 32,000, 256 × 30 words."""


SENTENCES = {"greedy": 12_000.0, "beam 5": 8_000.0}
"""A second, at 128 rows."""
ONE_SENTENCE = {"greedy": 6.0, "beam 5": 10.0}
"""Milliseconds."""
RECORDED = 1.0
"""How many times the steps one by one, at least."""
UPDATES = 100.0
"""A second, of the LSTM with two inputs."""
WITHOUT_KERNELS = [
    ("linear", "softmax"),
    ("location", "softmax"),
    ("perceptron", "softmax"),
    ("additive", "local"),
    ("dot", "sparsemax"),
]


class Plain(nn.Module):
    """A loop of torch's cells, written as one writes it: look, step, collect."""

    def __init__(self, cell: str, layers: int, state: str) -> None:
        super().__init__()
        self.lstm, self.after = cell == "lstm", state == "current"
        self.source, self.target = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(VOCABULARY, SIZE)
        encoder = nn.LSTM if self.lstm else nn.GRU
        self.encoder = encoder(SIZE, SIZE // 2, bidirectional=True, batch_first=True)
        make = nn.LSTMCell if self.lstm else nn.GRUCell
        self.cells = nn.ModuleList(make(SIZE if i else 2 * SIZE, SIZE) for i in range(layers))
        self.keys, self.query = (nn.Linear(SIZE, SIZE, bias=False) for _ in range(2))
        self.vector, self.first = nn.Linear(SIZE, 1, bias=False), nn.Linear(SIZE, SIZE)
        self.combine, self.output = nn.Linear(2 * SIZE, SIZE), nn.Linear(SIZE, VOCABULARY)

    def read(self, state: Tensor, keys: Tensor, memory: Tensor) -> Tensor:
        scores = self.vector(torch.tanh(keys + self.query(state).unsqueeze(1))).squeeze(-1)
        return torch.bmm(torch.softmax(scores, -1).unsqueeze(1), memory).squeeze(1)

    def loss(self, source: Tensor, previous: Tensor, following: Tensor) -> Tensor:
        memory, _ = self.encoder(self.source(source))
        keys, words = self.keys(memory), self.target(previous)
        start = torch.tanh(self.first(memory.mean(1)))
        states = [(start, torch.zeros_like(start))] * len(self.cells)
        said, feed = [], torch.zeros_like(start)
        for t in range(previous.shape[1]):
            read = feed if self.after else self.read(states[-1][0], keys, memory)
            below = torch.cat([words[:, t], read], -1)
            for layer, cell in enumerate(self.cells):
                state = states[layer]
                states[layer] = cell(below, state) if self.lstm else (cell(below, state[0]), state[1])
                below = states[layer][0]
            if self.after:
                feed = torch.tanh(self.combine(torch.cat([below, self.read(below, keys, memory)], -1)))
            said.append(feed if self.after else below)
        logits = self.output(torch.stack(said, 1))
        return F.cross_entropy(logits.flatten(0, 1), following.flatten())

    def greedy(self, source: Tensor) -> Tensor:
        """LENGTH tokens for each sentence, one layer that looks before its step."""
        memory, _ = self.encoder(self.source(source))
        keys = self.keys(memory)
        state = torch.tanh(self.first(memory.mean(1)))
        carry, word, said = torch.zeros_like(state), source.new_full((len(source),), 2), []
        for _ in range(LENGTH):
            below = torch.cat([self.target(word), self.read(state, keys, memory)], -1)
            if self.lstm:
                state, carry = self.cells[0](below, (state, carry))
            else:
                state = self.cells[0](below, state)
            word = self.output(state).argmax(-1)
            said.append(word)
        return torch.stack(said, 1)


class Floor(nn.Module):
    """No attention at all: cuDNN reads, cuDNN writes, one product makes the logits."""

    def __init__(self, cell: str, layers: int) -> None:
        super().__init__()
        make = nn.LSTM if cell == "lstm" else nn.GRU
        self.source, self.target = nn.Embedding(VOCABULARY, SIZE), nn.Embedding(VOCABULARY, SIZE)
        self.encoder = make(SIZE, SIZE // 2, bidirectional=True, batch_first=True)
        self.decoder = make(2 * SIZE, SIZE, layers, batch_first=True)
        self.output = nn.Linear(SIZE, VOCABULARY)

    def loss(self, source: Tensor, previous: Tensor, following: Tensor) -> Tensor:
        memory, _ = self.encoder(self.source(source))
        states, _ = self.decoder(torch.cat([self.target(previous), memory], -1))
        return F.cross_entropy(self.output(states).flatten(0, 1), following.flatten())


class Ours(nn.Module):
    """Through the public names of `regard.nn`."""

    def __init__(
        self, cell: Any, layers: int, state: Any, select: str = "softmax", score: str = "additive"
    ) -> None:
        super().__init__()
        encoder = RecurrentEncoder(Embedding(VOCABULARY, SIZE), cell=cell, size=SIZE // 2)
        attention = Attention(SIZE, encoder.value_size, score=score, select=select)
        self.encoder = encoder
        self.decoder = RecurrentDecoder(
            Embedding(VOCABULARY, SIZE),
            {"source": encoder},
            cell=cell,
            size=SIZE,
            layers=layers,
            attention={"source": attention},
            state=state,
        )

    def loss(self, source: Tokens, target: Tokens) -> Tensor:
        return self.decoder.loss({"source": self.encoder(source)}, target).mean

    def write(self, source: Tokens, search: Greedy | Beam) -> Tensor:
        """LENGTH tokens for each sentence, END the last of them."""
        found = self.decoder.predict({"source": self.encoder(source)}, search)
        return found.tokens


@contextmanager
def precision(name: str) -> Iterator[None]:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = name != "fp32"
    with torch.autocast("cuda", torch.bfloat16, enabled=name == "bf16"):
        yield


def measure(model: nn.Module, given: tuple[Any, ...], name: str, rounds: int) -> tuple[float, int]:
    """Milliseconds of a step, and bytes at its peak."""

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
    """Bar 6: what output layer and loss take beside their inputs, by one tensor of logits."""
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
    """One line of the table."""
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
    """The median, each time until the answer is on the host."""
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
    """One line of the second table."""
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


class TwoInputs(nn.Module):
    """A lemma and its features, both attended to, as in inflection."""

    def __init__(self) -> None:
        super().__init__()
        size, characters = 400, 60
        self.lemma, self.features = (
            RecurrentEncoder(Embedding(characters, size), cell="lstm", size=size // 2) for _ in range(2)
        )
        encoders = {"lemma": self.lemma, "features": self.features}
        attention = {
            name: Attention(size, one.value_size, score="additive") for name, one in encoders.items()
        }
        self.decoder = RecurrentDecoder(
            Embedding(characters, size), encoders, cell="lstm", size=size, attention=attention
        )

    def loss(self, lemma: Tokens, features: Tokens, target: Tokens) -> Tensor:
        memories = {"lemma": self.lemma(lemma), "features": self.features(features)}
        return self.decoder.loss(memories, target).mean


def two_inputs(rounds: int) -> float:
    """Updates a second, forward, backward, clipping and Adam; fp32."""
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
