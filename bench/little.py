"""What each help adds where there are few rows: 100, 500 and 2,000 rows of CMUdict, Multi30k and IMDB.

    python bench/little.py --data DATA --json little.json              all, with the seeds 1, 2 and 3
    python bench/little.py --data DATA --tasks imdb --sizes 100        some of it
    python bench/little.py --data DATA --only calibration              ECE of a classifier of IMDB before and after
    python bench/little.py --data DATA --only batches                  `batch_tokens: auto` beside fixed sizes

DATA holds cmudict-0.7b.*.xz, train, val and test_2016_flickr of Multi30k in en and de, and IMDB's three files, in any
folders. plain: the defaults of a spec, 10 epochs of batches of 4,000 tokens. stop: up to 100 epochs with early
stopping. The other helps are beside stop: auto (measured batches), rate (the found learning rate), unlabeled (up to
4,000 further outputs or inputs). All choices are made on dev; test is measured once for each run. One thread for
each run, `--workers` runs at a time; no run starts after `--minutes`. Exit status 1 if calibration or stop do not help.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from statistics import mean, stdev
from typing import Any

from written import parse, write_json

SIZES, SEEDS = (100, 500, 2000), (1, 2, 3)
HELPS = ("plain", "stop", "auto", "rate", "unlabeled")
DEV, TEST, MORE = 400, 1000, 4000
Rows = list[dict[str, str]]


def lines(data: Path, name: str) -> list[str]:
    """The lines of a file anywhere below a folder."""
    found = next(iter(sorted(data.rglob(name))), None)
    if found is None:
        sys.exit(f"{name} is not in {data}")
    opened = lzma.open if name.endswith(".xz") else gzip.open
    with opened(found, "rt", encoding="utf-8") as file:
        return file.read().splitlines()


def cmudict(data: Path) -> tuple[Rows, Rows, Rows]:
    def rows(name: str) -> Rows:
        pairs = [line.split("  ", 1) for line in lines(data, f"cmudict-0.7b.{name}.xz")]
        kept = [pair for pair in pairs if len(pair) == 2 and pair[0].isalpha()]
        return [{"source": word.lower(), "target": phones.strip()} for word, phones in kept]

    return rows("train-dev-20-21"), rows("train-dev-1-21"), rows("test")


def multi30k(data: Path) -> tuple[Rows, Rows, Rows]:
    def rows(name: str) -> Rows:
        sides = (lines(data, f"{name}.{language}.gz") for language in ("en", "de"))
        return [{"source": en, "target": de} for en, de in zip(*sides, strict=True) if en and de]

    return rows("train"), rows("val"), rows("test_2016_flickr")


def imdb(data: Path) -> tuple[Rows, Rows, Rows]:
    def rows(name: str) -> Rows:
        cells = [line.split("\t") for line in lines(data, f"{name}.tsv.xz")]
        return [
            {"source": " ".join(one[3].split()[:300]), "target": one[0]} for one in cells if len(one) == 4
        ]

    return rows("train"), rows("val"), rows("test")


TEXT = {
    "attention": {"score": "additive", "select": "softmax"},
    "search": {"method": "greedy", "max_length": 40},
}
TASKS: dict[str, dict[str, Any]] = {
    "cmudict": {
        "read": cmudict,
        "metric": "per",
        "spec": {
            "inputs": {"source": {"type": "text", "unit": "char"}},
            "outputs": {"target": {"type": "text", "unit": "word"}},
            "encoder": {"type": "recurrent", "cell": "gru", "size": 64, "embedding": 32, "dropout": 0.2},
            "decoder": {"type": "recurrent", "cell": "gru", "size": 96, "embedding": 32, "dropout": 0.2},
            "metrics": ["per"],
            **TEXT,
        },
        "training": {"lr": 3e-3, "bucket": 1},
    },
    "multi30k": {
        "read": multi30k,
        "metric": "bleu",
        "spec": {
            "inputs": {
                "source": {"type": "text", "case": "lower", "split": "punctuation", "vocabulary": 5000}
            },
            "outputs": {
                "target": {"type": "text", "case": "lower", "split": "punctuation", "vocabulary": 5000}
            },
            "encoder": {"type": "recurrent", "cell": "gru", "size": 96, "embedding": 96, "dropout": 0.3},
            "decoder": {"type": "recurrent", "cell": "gru", "size": 128, "embedding": 96, "dropout": 0.3},
            "metrics": ["bleu"],
            **TEXT,
        },
        "training": {"lr": 3e-3},
    },
    "imdb": {
        "read": imdb,
        "metric": "accuracy",
        "spec": {
            "inputs": {
                "source": {
                    "type": "text",
                    "case": "lower",
                    "split": "punctuation",
                    "min_count": 2,
                    "max_length": 2000,
                }
            },
            "outputs": {"target": {"type": "label"}},
            "encoder": {"type": "mean", "embedding": 64, "dropout": 0.3, "word_dropout": 0.1},
            "decoder": {"type": "label"},
            "metrics": ["accuracy"],
        },
        "training": {"lr": 3e-3, "metric": "accuracy"},
    },
}


def trained(task: str, size: int, help_: str, seed: int, data: Path, longest: int) -> dict[str, Any]:
    """One run: its test score and what it took."""
    import torch

    from regard.fitting.experiment import Experiment
    from regard.fitting.unlabeled import start_with_unlabeled
    from regard.runs.run import RunFolder
    from regard.spec import Spec

    torch.set_num_threads(1)
    began, about = time.monotonic(), TASKS[task]
    train, dev, test = about["read"](data)
    order = Random(seed)
    order.shuffle(train)
    given = {"train": train[:size], "dev": Random(0).sample(dev, min(DEV, len(dev)))}
    given["test"] = Random(0).sample(test, min(TEST, len(test)))
    training = {"seed": seed, "epochs": 10, "patience": None, **about["training"]}
    if help_ != "plain":
        training |= {"epochs": 100, "patience": 5, "steps": longest, "batch_rows": 32}
    if help_ == "auto":
        training["batch_tokens"] = "auto"
        training.pop("batch_rows")
    with tempfile.TemporaryDirectory(prefix="regard-little-") as folder:
        place = Path(folder)
        files = {split: str(place / f"{split}-rows.jsonl") for split in given}
        for split, rows in given.items():
            Path(files[split]).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        spec = Spec(**about["spec"], training=training, data=files)
        found: dict[str, Any] = {}
        if help_ == "rate":
            probe = Experiment(spec, place / "probe", device="cpu", quiet=True)
            found["lr"] = probe.find_rate().suggestion
            probe.close()
            spec = spec.changed(f"training.lr={found['lr']:f}")
        if help_ == "unlabeled":
            side = "source" if task == "imdb" else "target"
            more = place / "more.jsonl"
            texts = [{side: row[side]} for row in train[size : size + MORE]]
            more.write_text("".join(json.dumps(row) + "\n" for row in texts), encoding="utf-8")
            run = RunFolder.start(place / "run")
            experiment = start_with_unlabeled(spec, more, run, device="cpu", quiet=True)
        else:
            experiment = Experiment(spec, place / "run", device="cpu", quiet=True)
        model = experiment.train()
        score = experiment.evaluations["test"].scores[about["metric"]].value
        told = model.metrics["training"]
        found |= {
            "steps": told["steps"],
            "stopped": told["stopped_because"],
            **model.metrics.get("unlabeled", {}),
        }
        if experiment.batch_choice is not None:
            found["batch_tokens"] = experiment.batch_choice.tokens
    return {
        "task": task,
        "size": size,
        "help": help_,
        "seed": seed,
        "score": score,
        **found,
        "seconds": round(time.monotonic() - began, 1),
    }


def one(job: tuple[Any, ...]) -> dict[str, Any]:
    """A run in a process of its own; a failure is a result too."""
    *wanted, data, longest, end = job
    if time.time() > end:
        return dict(zip(("task", "size", "help", "seed"), wanted, strict=True)) | {"failed": "no time left"}
    try:
        return trained(*wanted, data, longest)
    except Exception as error:
        return dict(zip(("task", "size", "help", "seed"), wanted, strict=True)) | {
            "failed": repr(error)[:300]
        }


def table(found: list[dict[str, Any]]) -> list[str]:
    """Mean and standard deviation over the seeds."""
    rows = ["| data | rows | " + " | ".join(HELPS) + " |", "|---|---|" + "---|" * len(HELPS)]
    for task, about in TASKS.items():
        for size in SIZES:
            cells = []
            for help_ in HELPS:
                mine = [r for r in found if (r["task"], r["size"], r["help"]) == (task, size, help_)]
                values = [r["score"] for r in mine if "score" in r]
                spread = f" ± {stdev(values):.3g}" if len(values) > 1 else ""
                cells.append(f"{mean(values):.4g}{spread}" if values else "")
            if any(cells):
                rows.append(f"| {task} ({about['metric']}) | {size:,} | {' | '.join(cells)} |")
    return rows


def calibration(data: Path, device: str | None) -> dict[str, Any]:
    """ECE, Brier score and loss of a classifier of all reviews, before and after, with three seeds."""
    from regard.evaluation import calibrate
    from regard.fitting.experiment import Experiment
    from regard.spec import Spec

    found = []
    for seed in SEEDS:
        with tempfile.TemporaryDirectory(prefix="regard-little-") as folder:
            files = {}
            for split, rows in zip(("train", "dev", "test"), imdb(data), strict=True):
                files[split] = str(Path(folder) / f"{split}-rows.jsonl")
                Path(files[split]).write_text(
                    "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
                )
            training = {
                "epochs": 8,
                "batch_rows": 64,
                "lr": 5e-3,
                "seed": seed,
            }  # the loss chooses nothing: all epochs
            spec = Spec(**TASKS["imdb"]["spec"], training={**training, "metric": "accuracy"}, data=files)
            experiment = Experiment(spec, Path(folder) / "run", device=device, quiet=True)
            result = calibrate(experiment.train())
            found.append(result.to_dict())
            for when in ("before", "after"):
                one = getattr(result, when)["test"]
                shown = ((name, getattr(one, name)) for name in ("accuracy", "ece", "brier", "loss"))
                told = "  ".join(f"{name} {value:.4f}" for name, value in shown)
                print(f"imdb seed {seed} {when:<6} temperature {result.temperature:.3f}  {told}", flush=True)
    return {"imdb": found}


def sizes(data: Path, device: str | None) -> dict[str, Any]:
    """What `batch_tokens: auto` chooses for Multi30k and IMDB on this device, and the throughput of all sizes."""
    from dataclasses import asdict

    from regard.fitting.experiment import Experiment
    from regard.spec import Spec

    found = {}
    for task in ("multi30k", "imdb"):
        train, dev, _ = TASKS[task]["read"](data)
        with tempfile.TemporaryDirectory(prefix="regard-little-") as folder:
            files = {}
            for split, rows in (("train", train), ("dev", dev[:100])):
                files[split] = str(Path(folder) / f"{split}-rows.jsonl")
                Path(files[split]).write_text(
                    "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
                )
            training = {"steps": 5, "batch_tokens": "auto"}
            spec = Spec(**TASKS[task]["spec"], training=training, data=files)
            experiment = Experiment(spec, Path(folder) / "run", device=device, quiet=True)
            experiment.train()
            assert experiment.batch_choice is not None
            found[task] = asdict(experiment.batch_choice)
            for one in experiment.batch_choice.tried:
                chosen = "  chosen" if one.tokens == experiment.batch_choice.tokens else ""
                speed = f"{one.tokens:>8,} tokens {one.throughput:>12,.0f} tokens/s {one.memory / 2**20:>8,.0f} MiB"
                print(f"{task} {device or 'gpu'} {speed}{chosen}", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("local/data"))
    parser.add_argument("--only", choices=("table", "calibration", "batches"), default="table")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--helps", nargs="+", default=list(HELPS), choices=list(HELPS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
    parser.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--steps", type=int, default=1500, help="most updates of a run")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--device")
    options = parse(parser)
    if options.only == "calibration":
        figures = calibration(options.data, options.device)
        write_json(options.json, figures)
        worse = [r for r in figures["imdb"] if r["after"]["test"]["ece"] > r["before"]["test"]["ece"]]
        sys.exit(1 if worse else 0)
    if options.only == "batches":
        write_json(options.json, sizes(options.data, options.device))
        return
    end = time.time() + 60 * options.minutes
    jobs = [
        (task, size, help_, seed, options.data, options.steps, end)
        for seed in options.seeds
        for size in sorted(options.sizes)
        for task in options.tasks
        for help_ in reversed([one for one in HELPS if one in options.helps])
    ]
    if options.workers > 1:  # compile the kernels once, not in every process
        for task in options.tasks:
            print(json.dumps(one((task, 100, "stop", 0, options.data, 2, end))), flush=True)
    found = []
    context = multiprocessing.get_context("spawn")
    with context.Pool(options.workers, maxtasksperchild=8) as pool:
        for result in pool.imap_unordered(one, jobs):
            found.append(result)
            print(json.dumps(result), flush=True)
            write_json(options.json, {"runs": found})
    print("\n".join(table(found)))
    plain, stop = (
        [r["score"] for r in found if r["task"] == "imdb" and r["help"] == help_ and "score" in r]
        for help_ in ("plain", "stop")
    )
    sys.exit(1 if plain and stop and mean(stop) < mean(plain) else 0)


if __name__ == "__main__":
    main()
