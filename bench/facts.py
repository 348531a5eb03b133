"""Question answering in the rooms world, softmax hops against one joint chain, with several seeds.

    python bench/facts.py --seeds 3 --workers 2 --json facts.json

Trains the zoo's `facts` and `facts-structured` with each seed, one thread per process, and prints answer and
fact accuracy on the test questions, their means and the chance level. Neither system is trained on the true
facts. Resumable.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import statistics
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from written import parse, write_json

from regard import RegardError
from regard.model.loading import read_metrics
from regard.model.saving import versions

SYSTEMS = ("facts", "facts-structured")


def train(system: str, seed: int, folder: Path, overrides: tuple[str, ...]) -> dict[str, Any]:
    """The metrics of one run; a finished run is not trained again."""
    import torch

    from regard.fitting.experiment import Experiment

    torch.set_num_threads(1)
    run = folder / f"{system}-{seed}"
    if "scores" not in read_metrics(run):
        changes = [f"training.seed={seed}", *overrides]
        Experiment.start(system, run=run, overrides=changes, device="cpu", overwrite=True, quiet=True).train()
    return read_metrics(run)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--folder", type=Path, default=Path("runs/facts"), help="where the runs are kept")
    parser.add_argument("--set", action="append", default=[], help="key.path=value, for both systems")
    options = parse(parser)
    os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.workers, mp_context=context) as pool:
        jobs = {
            (system, seed): pool.submit(train, system, seed, options.folder, tuple(options.set))
            for system in SYSTEMS
            for seed in range(1, options.seeds + 1)
        }
        found = {key: job.result() for key, job in jobs.items()}
    table = Table(box=None, header_style="bold", pad_edge=False)
    for head in ("system", "seed", "answer %", "chance", "fact %", "chance", "seconds"):
        table.add_column(head, justify="left" if head == "system" else "right")
    rows = []
    for system in SYSTEMS:
        mine = [found[system, seed] for seed in range(1, options.seeds + 1)]
        for seed, metrics in enumerate(mine, 1):
            rows.append(_row(system, seed, metrics))
        mean = {"system": system, "seed": "mean"}
        for name in ("answer", "answer chance", "fact", "fact chance", "seconds"):
            mean[name] = statistics.fmean(row[name] for row in rows if row["system"] == system)
        rows.append(mean)
    for row in rows:
        figures = (row[name] for name in ("answer", "answer chance", "fact", "fact chance", "seconds"))
        table.add_row(row["system"], str(row["seed"]), *(f"{figure:.1f}" for figure in figures))
    Console(highlight=False).print(table)
    write_json(options.json, {"rows": rows, "versions": versions()})
    return 0


def _row(system: str, seed: int, metrics: dict[str, Any]) -> dict[str, Any]:
    test = metrics["scores"]["test"]
    return {
        "system": system,
        "seed": seed,
        "answer": 100 * test["accuracy"]["value"],
        "answer chance": 100 * test["accuracy"]["chance"],
        "fact": 100 * test["fact_accuracy"]["value"],
        "fact chance": 100 * test["fact_accuracy"]["chance"],
        "seconds": metrics["training"]["seconds"],
    }


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
