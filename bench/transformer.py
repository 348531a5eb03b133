"""Our Transformer beside `nn.Transformer` and CTranslate2, on the same work, in one run.

    python bench/transformer.py --json result.json                   training and search on the CPU
    python bench/transformer.py --device cuda --only training        a part of it
    python bench/transformer.py --only search --threads 2 --rows 64 1

4 + 4 layers of 256 units with 8 heads, a vocabulary of 8,000, sentences of 10 to 30 tokens; normalization before each
sublayer. Training times forward, backward and Adam; the peer is `nn.Transformer` with the same sizes, eager and
compiled. Search writes exactly 25 tokens, greedily and with a beam of 5; the peer is CTranslate2 with our weights
(`pip install ctranslate2`). First the outputs are compared: equal tokens in greedy search, our best output among
theirs with a beam, and the log-probability of each token to 1e-4.

The sides take turns; ratios are of medians. Exit status 1 if a bar is missed or an output differs.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformer_models import NAMES, Converted, Ours, Plain, forced, sources, spelled
from written import parse, write_json

from regard.fast.whole_search import bytes_lack
from regard.nn.search import Beam, Greedy, Limits

TRAINING = {"eager": 1.5, "compiled": 1.1}
"""{peer: least ratio on CUDA}"""
SEARCH = {"cuda": 1.0, "cpu": 0.8}
"""{device: least ratio of our rate to CTranslate2's in the same precision}"""
WRITTEN = 25
CLOSE = 1e-4
KINDS = {"fp32": "float32", "int8": "int8", "bf16": "bfloat16"}
"""{our precision: that of CTranslate2}"""
Work = Callable[[], Any]


def in_turns(sides: Mapping[str, Work], rounds: int, device: str) -> dict[str, float]:
    """Median seconds of one piece of work of each side, warm."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds + 2):
        for name, work in sides.items():
            if device == "cpu":
                time.sleep(0.01)  # the other library's threads stop waiting for work
            synchronize(device)
            start = time.perf_counter()
            work()
            synchronize(device)
            if number >= 2:
                taken[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in taken.items()}


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def autocast(device: str, precision: str) -> AbstractContextManager[Any]:
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    return torch.autocast(device, torch.bfloat16) if precision == "bf16" else nullcontext()


def step_of(
    model: torch.nn.Module, loss: Callable[[], torch.Tensor], device: str, precision: str, steps: int
) -> Work:
    """`steps` updates of a model."""
    adam = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def work() -> None:
        for _ in range(steps):
            with autocast(device, precision):
                cost = loss()
            cost.backward()
            adam.step()
            adam.zero_grad()

    return work


def training(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Seconds of an update by side."""
    lines = []
    steps = 10 if options.device == "cuda" else 1
    for rows in options.batch:
        for precision in options.precision:
            torch.manual_seed(0)
            source, target = sources(rows).to(options.device), sources(rows, 1).to(options.device)
            given = (source.ids, *(part.to(options.device) for part in forced(target)))
            ours, plain = Ours().to(options.device), Plain().to(options.device)
            sides = {
                "ours": step_of(ours, lambda: ours.loss(source, target), options.device, precision, steps),  # noqa: B023
                "eager": step_of(plain, lambda: plain(*given), options.device, precision, steps),  # noqa: B023
            }
            if not options.no_compile:
                other = Plain().to(options.device)
                fast = torch.compile(other)
                sides["compiled"] = step_of(other, lambda: fast(*given), options.device, precision, steps)  # noqa: B023
            taken = {
                name: seconds / steps
                for name, seconds in in_turns(sides, options.rounds, options.device).items()
            }
            line: dict[str, Any] = {"rows": rows, "precision": precision, "seconds": taken}
            line["ratios"] = {name: taken[name] / taken["ours"] for name in taken if name != "ours"}
            lines.append(line)
            shown = "  ".join(f"{name} {1000 * one:.2f} ms" for name, one in taken.items())
            ratios = "  ".join(f"{one:.2f} × {name}" for name, one in line["ratios"].items())
            print(f"training  {rows:4} rows  {precision:5} {shown}  {ratios}", flush=True)
    return lines


def searches() -> dict[str, tuple[Any, int]]:
    limits = Limits(minimum=WRITTEN, maximum=WRITTEN)
    return {"greedy": (Greedy(limits), 1), "beam 5": (Beam(5, length_penalty=0.0, limits=limits), 5)}


def compared(ours: Ours, theirs: Converted, device: str) -> dict[str, float]:
    """How much our outputs and CTranslate2's agree: the share of equal outputs, and the largest difference of the
    log-probability of a token."""
    source = sources(32, 7)
    found: dict[str, float] = {}
    for name, (search, beam) in searches().items():
        mine = ours.search(source.to(device), search)
        written = [[NAMES[token] for token in mine.content(row)] for row in range(len(source.ids))]
        other = theirs.search(spelled(source), beam, WRITTEN, WRITTEN, best=beam)  # theirs need not end
        same = [a in b.hypotheses for a, b in zip(written, other, strict=True)]
        found[f"equal, {name}"] = sum(same) / len(same)
        scores = theirs.token_scores(spelled(source), written)
        differences = [
            abs(a - b)
            for row, theirs_row in enumerate(scores)
            for a, b in zip(mine.token_scores[row, 0, : len(theirs_row)].tolist(), theirs_row, strict=True)
        ]
        found[f"difference, {name}"] = max(differences)
    return found


def search(options: argparse.Namespace, folder: Path) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """The agreement, and sentences per second by side."""
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")
    ours = Ours(norm=options.norm).to(options.device).eval()
    agreed: dict[str, float] = {}
    theirs: dict[str, Converted] = {}
    for precision in options.search_precision:
        try:
            theirs[precision] = Converted(ours, folder, options.device, KINDS[precision], options.threads)
            if precision == "fp32":
                agreed = compared(ours, theirs[precision], options.device)
        except (ImportError, RuntimeError, ValueError) as error:
            theirs.pop(precision, None)
            print(f"CTranslate2 does not run {precision} here: {error}", flush=True)
    if agreed:
        print("  ".join(f"{name} {one:.2g}" for name, one in agreed.items()), flush=True)
    lines = []
    for rows in options.rows:
        source = sources(rows, 3)
        given, pieces = source.to(options.device), spelled(source)
        for name, (kind, beam) in searches().items():
            sides: dict[str, Work] = {"ours fp32": lambda: ours.search(given, kind).tokens.cpu()}  # noqa: B023
            if "int8" in theirs and options.device == "cpu" and not bytes_lack():
                rounded = replace(kind, precision="int8")
                sides["ours int8"] = lambda rounded=rounded: ours.search(given, rounded).tokens  # noqa: B023
            for precision, one in theirs.items():
                sides[f"CTranslate2 {precision}"] = lambda one=one, beam=beam, pieces=pieces: one.search(
                    pieces, beam, WRITTEN, WRITTEN + 1
                )
            taken = in_turns(sides, options.rounds, options.device)
            rates = {side: rows / seconds for side, seconds in taken.items()}
            line: dict[str, Any] = {"rows": rows, "search": name, "sentences/s": rates}
            line["ratios"] = {
                precision: rates[f"ours {precision}"] / rates[f"CTranslate2 {precision}"]
                for precision in theirs
                if f"ours {precision}" in rates
            }
            lines.append(line)
            shown = "  ".join(f"{side} {rate:,.1f}/s" for side, rate in rates.items())
            ratios = "  ".join(f"{precision} {one:.2f}" for precision, one in line["ratios"].items())
            print(f"{name:7} {rows:4} rows  {shown}  {ratios}", flush=True)
    return agreed, lines


def missed(found: Mapping[str, Any], device: str) -> list[str]:
    lacking = []
    for line in found.get("training", []):
        for peer, ratio in line["ratios"].items():
            if device == "cuda" and ratio < TRAINING[peer]:
                lacking.append(f"training, {line['rows']} rows, {line['precision']}: {ratio:.2f} × {peer}")
    for line in found.get("search", []):
        for precision, ratio in line["ratios"].items():
            if ratio < SEARCH[device]:
                lacking.append(
                    f"{line['search']}, {line['rows']} rows, {precision}: {ratio:.2f} of CTranslate2"
                )
    for name, value in found.get("agreement", {}).items():
        if (value < 1.0) if name.startswith("equal") else (value > CLOSE):
            lacking.append(f"{name}: {value:.2g}")
    return lacking


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", choices=("training", "search"))
    parser.add_argument("--batch", nargs="+", type=int, default=[64], help="rows of a training batch")
    parser.add_argument("--rows", nargs="+", type=int, default=[64], help="sentences of a search")
    parser.add_argument("--precision", nargs="+", default=["fp32"], choices=("fp32", "tf32", "bf16"))
    parser.add_argument("--search-precision", nargs="+", default=["fp32", "int8"], choices=tuple(KINDS))
    parser.add_argument("--norm", choices=("pre", "post"), default="pre")
    parser.add_argument(
        "--no-compile", action="store_true", help="leave out torch.compile, which takes a minute"
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parse(parser)
    torch.set_num_threads(options.threads)
    if options.device == "cuda" and not torch.cuda.is_available():
        print("There is no GPU here.", file=sys.stderr)
        return 2
    print(f"torch {torch.__version__}, {options.device}, {options.threads} threads", flush=True)
    found: dict[str, Any] = {
        "device": options.device,
        "torch": str(torch.__version__),
        "threads": options.threads,
    }
    if options.only in (None, "search"):
        with tempfile.TemporaryDirectory() as folder:
            found["agreement"], found["search"] = search(options, Path(folder) / "model")
    if options.only in (None, "training"):
        found["training"] = training(options)
    found["missed"] = missed(found, options.device)
    write_json(options.json, found)
    print("\n".join(f"missed: {one}" for one in found["missed"]) or "every bar reached")
    return int(bool(found["missed"]))


if __name__ == "__main__":
    sys.exit(main())
