"""Constraints against all outputs listed, and the time that they cost.

    python bench/constraints.py --only truth --count 10000 --jobs 16
    OMP_NUM_THREADS=2 python bench/constraints.py --only time --runs /tmp/runs/g2p /tmp/runs/translation

Truth: random constraints, one to three at a time, on small random models with words, characters, punctuation, capitals,
subwords and copied words. All outputs are listed (`random_constraints.py`). Greedy search must write what greedy search
among the outputs that obey writes; a sample and a narrow beam must obey; a beam as wide as all prefixes must find the
most probable output that obeys; if there is none, the constraint must be refused. Time: the same inputs with and
without a constraint, in turns; the ratio of medians, by token where outputs get longer. Exit status 1 if a bar is
missed.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import written
from random_constraints import COLUMNS, END, Listed, Truth, compared, listed, some_constraint

MODELS = 4
"""Random models of each kind."""
PIECE = 60
"""Constraints that a process tries at a time."""
BAR = 1.3


def allowed_greedy(world: Listed, obeying: set[tuple[int, ...]]) -> tuple[int, ...]:
    """What greedy search among some outputs writes."""
    prefixes = {ids[:length] for ids in obeying for length in range(len(ids) + 1)}
    ids: tuple[int, ...] = ()
    while True:
        choices = {
            unit: score
            for unit, score in world.choices[ids].items()
            if (ids in obeying if unit == END else (*ids, unit) in prefixes)
        }
        best = max(choices, key=choices.__getitem__)
        if best == END:
            return ids
        ids = (*ids, best)


def tried(
    world: Listed, constraints: list[dict[str, Any]], truths: list[Truth], seed: int
) -> tuple[list[str], bool]:
    """What is wrong with the outputs under some constraints, empty if nothing is; and whether an output obeys."""
    from regard import RegardError

    obeying = {ids for ids, text in world.outputs.items() if all(truth(text) for truth in truths)}
    wrong = _tried(world, constraints, truths, seed, obeying, RegardError)
    return wrong, bool(obeying)


def _tried(
    world: Listed,
    constraints: list[dict[str, Any]],
    truths: list[Truth],
    seed: int,
    obeying: set[tuple[int, ...]],
    refused: type[Exception],
) -> list[str]:

    def written_by(**options: Any) -> Any:
        return world.model.predict(world.given, constraint=constraints, trace=False, **options)

    try:
        greedy = written_by(method="greedy")
    except refused as error:
        told = str(error)
        return [] if not obeying and "constraint" in told else [f"refused: {told}"]
    if not obeying:
        return ["not refused"]
    wrong = []
    best = max(world.scores[ids] for ids in obeying)
    expected = world.text(allowed_greedy(world, obeying))
    if greedy.text != expected:
        wrong.append(f"greedy {greedy.text!r}, expected {expected!r}")
    narrow = written_by(method="beam", beam=3, length_penalty=0.0)
    sample = written_by(method="sample", seed=seed)
    for name, found in (("beam", narrow), ("sample", sample)):
        if not all(truth(found.text) for truth in truths):
            wrong.append(f"{name} {found.text!r} does not obey")
    wide = written_by(method="beam", beam=world.widest, length_penalty=0.0)
    if abs(wide.score - best) > 1e-3 or not all(truth(wide.text) for truth in truths):
        wrong.append(f"wide beam {wide.text!r} {wide.score:.4f}, best {best:.4f}")
    return wrong


def some(kind: str, count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Try random constraints on models of one kind."""
    import torch

    torch.set_num_threads(1)
    tally: Counter[str] = Counter()
    faults: list[str] = []
    draw = random.Random(f"{kind} {seed}")
    worlds = [listed(kind, seed * MODELS + number) for number in range(MODELS)]
    for number in range(count):
        world = draw.choice(worlds)
        pairs = [
            some_constraint(draw, world, characters=kind == "characters")
            for _ in range(draw.choice([1, 1, 2, 3]))
        ]
        wrong, obeyed = tried(world, [one for one, _ in pairs], [truth for _, truth in pairs], number)
        tally["possible" if obeyed else "impossible"] += 1
        tally.update(one["type"] for one, _ in pairs)
        if wrong:
            faults.append(f"{kind}: {[one for one, _ in pairs]}: {'; '.join(wrong)}")
    return tally, faults


def check_truth(count: int, jobs: int, seed: int) -> dict[str, Any]:
    began = time.perf_counter()
    share = -(-count // len(COLUMNS))
    pieces = [
        (kind, min(PIECE, share - low), seed * 1000 + low // PIECE)
        for low in range(0, share, PIECE)
        for kind in COLUMNS
    ]
    tally: Counter[str] = Counter()
    differing = compared(300, seed)
    faults: list[str] = [f"{differing} texts about which re and sets of places differ"] * bool(differing)
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # of the processes
    if jobs == 1:
        found = (some(*piece) for piece in pieces)
        for part, wrong in found:
            tally += part
            faults += wrong
    else:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            for part, wrong in pool.map(some, *zip(*pieces, strict=True)):
                tally += part
                faults += wrong
    number = tally["possible"] + tally["impossible"]
    print(
        f"{number:,} constraints ({tally['impossible']:,} that nothing obeys): {len(faults)} wrong, "
        f"in {time.perf_counter() - began:.0f} s",
        flush=True,
    )
    print("  " + ", ".join(f"{name} {tally[name]:,}" for name in sorted(tally) if "possible" not in name))
    for fault in faults[:20]:
        print("  " + fault)
    return {"constraints": number, "wrong": len(faults), "tally": dict(tally), "faults": faults[:100]}


def some_inputs(model: Any, count: int) -> list[str]:
    """Inputs of a system: rows of its world, or words of this repository's documents."""
    provider = model.spec.data.provider
    if provider is not None and provider.kind == "world":
        rows = next(iter(provider.splits().values()))
        name = next(iter(model.spec.inputs))
        texts = [row[model.columns[name].field] for row in rows]
    else:
        known = set(model.columns[next(iter(model.spec.inputs))].vocabulary.pieces)
        text = (Path(__file__).parents[1] / "docs" / "guide.md").read_text(encoding="utf-8")
        words = dict.fromkeys(word.strip(".,:;()`").lower() for word in text.split())
        texts = [word for word in words if len(word) > 5 and set(word) <= known]
    return (texts * (count // len(texts) + 1))[:count]


def measured(
    model: Any, inputs: list[str], device: str, rounds: int, wanted: list[str]
) -> list[dict[str, Any]]:
    """The time with constraints beside the time without, for each search."""
    column = model.columns[next(iter(model.spec.outputs))]
    often, rare = column.vocabulary.pieces[3], column.vocabulary.pieces[-1]
    constraints: dict[str, Any] = {
        "never": {"type": "never", "phrases": [rare]},
        "regex": {"type": "regex", "pattern": r"\S+( \S+)*"},
        "never, regex, prefix": [
            {"type": "never", "phrases": [rare, f"{often} {often} {often}"]},
            {"type": "regex", "pattern": r"(\S+ ?)*"},
            {"type": "regex", "pattern": ".+"},
        ],
        "must": {"type": "must", "phrases": [often]},
    }
    results = []
    for method in ("greedy", "beam", "sample"):
        for name, constraint in constraints.items():
            if (name == "must" and method != "beam") or (wanted and name not in wanted):
                continue
            sides: dict[str, Any] = {"without": None, "with": constraint}
            times: dict[str, list[float]] = {side: [] for side in sides}
            tokens = dict.fromkeys(sides, 1)
            for round_ in range(rounds + 2):
                for side, given in sides.items():
                    options = {} if given is None else {"constraint": given}
                    began = time.perf_counter()
                    answers = model.predict(inputs, method=method, trace=False, batch_rows=128, **options)
                    if round_ > 1:  # the first are to warm up, and to record
                        times[side].append(time.perf_counter() - began)
                    tokens[side] = sum(len(column.pieces(one.text)) + 1 for one in answers)
            ratio = median(times["with"]) / median(times["without"])
            longer = tokens["with"] / tokens["without"]
            row = {"device": device, "search": method, "constraint": name, "ratio": ratio, "longer": longer,
                   "by token": ratio / longer, "seconds": {side: median(times[side]) for side in sides}}  # fmt: skip
            results.append(row)
            print(
                f"{model.spec.name:12} {device:5} {method:7} {name:22} {row['seconds']['without']:8.4f} s "
                f"{row['seconds']['with']:8.4f} s {ratio:6.2f} {longer:7.2f} {ratio / longer:9.2f}",
                flush=True,
            )
    return results


def check_time(
    runs: list[str], device: str, rows: int, rounds: int, wanted: list[str]
) -> list[dict[str, Any]]:
    import regard

    print(f"{'system':12} {'on':5} {'search':7} {'constraint':22} {'without':>10} {'with':>10} {'ratio':>6} "
          f"{'longer':>7} {'by token':>9}")  # fmt: skip
    found = []
    for run in runs:
        model = regard.load(run, device=device)
        for row in measured(model, some_inputs(model, rows), device, rounds, wanted):
            found.append({"run": Path(run).name, **row})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--only", choices=("truth", "time"))
    parser.add_argument("--count", type=int, default=10_000, help="random constraints")
    parser.add_argument("--jobs", type=int, default=1, help="processes that try them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", nargs="*", default=[], help="trained models whose time is measured")
    parser.add_argument(
        "--constraints", nargs="*", default=[], help="those whose time is measured; default: all"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    options = written.parse(parser)
    found: dict[str, Any] = {}
    if options.only != "time":
        found["truth"] = check_truth(options.count, options.jobs, options.seed)
    if options.only != "truth":
        found["time"] = check_time(
            options.runs, options.device, options.rows, options.rounds, options.constraints
        )
    written.write_json(options.json, found)
    slow = [row for row in found.get("time", []) if min(row["ratio"], row["by token"]) > BAR]
    if slow:
        print(f"Missed: {len(slow)} ratios above {BAR}.")
    return 1 if slow or found.get("truth", {}).get("wrong") else 0


if __name__ == "__main__":
    sys.exit(main())
