"""Several labels, spans and ordinal labels: worlds whose truth is known, and real data.

    python bench/labels.py [DATA] --only topics spans babi-1 babi-2 babi-8 sst imdb --seeds 3 --json labels.json

DATA is a folder with en.tar.xz or en-10k.tar.xz (bAbI), train.txt.xz, dev.txt.xz and test.txt.xz (SST), train.tsv.xz,
val.tsv.xz and test.tsv.xz (IMDB), or with these in folders babi, sst_trees and imdb. What is absent is left out.
bAbI 1 and 2 become questions about a text whose answer is a word of the last supporting sentence; bAbI 8, whose answers
are lists, several labels. A row has the scores of one seed on test, and the last one of a system their means with an
interval of 95 % (Student's t over the seeds). The script ends with status 1 below a bar.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from written import parse, write_json

PLACES = {"en.tar.xz": "babi", "en-10k.tar.xz": "babi", ".txt.xz": "sst_trees", ".tsv.xz": "imdb"}
BARS: dict[str, dict[str, float]] = {
    "topics": {"micro_f1": 0.97, "label_words": 0.5},
    "spans": {"exact": 0.95, "span_mass": 0.9},
}
READING = {"type": "recurrent", "cell": "gru", "size": 64, "embedding": 64, "dropout": 0.2}
TRAINING = {"batch_rows": 32, "lr": 3.0e-3, "clip": 1.0, "schedule": {"type": "cosine", "warmup": 50}}


def located(data: Path, name: str) -> Path | None:
    folder = next(place for end, place in PLACES.items() if name.endswith(end))
    return next((one for one in (data / name, data / folder / name) if one.is_file()), None)


def stories(archive: Path, task: int, split: str, place: Path) -> Iterator[dict[str, str]]:
    from regard.data import read_rows

    with tarfile.open(archive) as opened:
        name = next(one for one in opened.getnames() if f"qa{task}_" in one and one.endswith(f"_{split}.txt"))
        content = opened.extractfile(name)
        assert content is not None
        path = place / f"qa{task}_{split}.txt"
        path.write_bytes(content.read())
    yield from read_rows(str(path), fields=["story", "question", "answer", "facts"], format="babi")


def as_span(row: dict[str, str]) -> dict[str, str]:
    """The answer as the word of the last supporting sentence that has it."""
    sentences = [one.split() for one in row["story"].split(".") if one.strip()]
    starts, words = [], list[str]()
    for sentence in sentences:
        starts.append(len(words))
        words += [*sentence, "."]
    places = [
        starts[fact] + sentences[fact].index(row["answer"])
        for fact in map(int, row["facts"].split())
        if row["answer"] in sentences[fact]
    ]
    return {"text": " ".join(words), "question": row["question"], "span": str(places[-1])}


def as_labels(row: dict[str, str]) -> dict[str, str]:
    """A list of things as several labels; `nothing` as none."""
    answer = "" if row["answer"] == "nothing" else row["answer"].replace(",", "|")
    return {"text": row["story"].replace(".", " ."), "question": row["question"], "labels": answer}


def written(rows: list[dict[str, str]], path: Path) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def babi(data: Path, task: int, place: Path, kind: str) -> dict[str, Any] | None:
    archive = located(data, "en-10k.tar.xz") or located(data, "en.tar.xz")
    if archive is None:
        return None
    make = as_span if kind == "span" else as_labels
    train, test = ([make(row) for row in stories(archive, task, one, place)] for one in ("train", "test"))
    held = len(train) // 10
    output: dict[str, Any] = {"span": {"type": "span", "of": "text"}}
    decoder: dict[str, Any] = {"type": "span", "query": "question", "longest": 1}
    metrics = ["exact", "span_mass"]
    if kind != "span":
        output = {"labels": {"type": "multilabel"}}
        look = {"over": "text", "score": {"type": "additive", "size": 64}}
        decoder = {"type": "multilabel", "query": "question", "attention": look}
        metrics = ["micro_f1", "macro_f1", "exact"]
    return {
        "inputs": {
            "text": {"type": "text", "max_length": 2000},
            "question": {"type": "text", "shared": "text"},
        },
        "outputs": output,
        "encoder": {"text": READING, "question": READING},
        "decoder": decoder,
        "metrics": metrics,
        "training": {**TRAINING, "epochs": 12, "metric": metrics[0]},
        "data": {
            "train": written(train[held:], place / f"{kind}{task}-train.jsonl"),
            "dev": written(train[:held], place / f"{kind}{task}-dev.jsonl"),
            "test": written(test, place / f"{kind}{task}-test.jsonl"),
        },
    }


def stars(
    data: Path, names: tuple[str, str, str], column: dict[str, Any], decoder: str
) -> dict[str, Any] | None:
    """The same classifier, whose classes have an order or not."""
    files = [located(data, name) for name in names]
    if None in files:
        return None
    sst = names[0].endswith(".txt.xz")
    fields = {} if sst else {"field": "4"}
    output = {**column, "field": "label" if sst else "2"}
    return {
        "inputs": {
            "text": {"type": "text", "case": "lower", "split": "punctuation", "max_length": 3000, **fields}
        },
        "outputs": {"stars": output},
        "encoder": READING if sst else {"type": "mean", "embedding": 64, "dropout": 0.2},
        "decoder": {
            "type": decoder,
            "attention": {"score": {"type": "additive", "size": 64}},
            "dropout": 0.3,
        },
        "metrics": ["rank_error", "kappa", "accuracy"],
        "training": {**TRAINING, "epochs": 4, "metric": "rank_error"},
        "data": dict(zip(("train", "dev", "test"), map(str, files), strict=True))
        | {"format": "sst" if sst else {"type": "tsv", "header": False}},
    }


def specs(only: list[str], data: Path | None, place: Path) -> Iterator[tuple[str, Any]]:
    for name in ("topics", "spans"):
        if name in only:
            yield name, name
    if data is None:
        return
    for task in (1, 2):
        if f"babi-{task}" in only:
            yield f"bAbI {task} as spans", babi(data, task, place, "span")
    if "babi-8" in only:
        yield "bAbI 8 as labels", babi(data, 8, place, "labels")
    for name, files, classes in (
        ("sst", ("train.txt.xz", "dev.txt.xz", "test.txt.xz"), "01234"),
        ("imdb", ("train.tsv.xz", "val.tsv.xz", "test.tsv.xz"), ("1", "2", "3", "4", "7", "8", "9", "10")),
    ):
        for decoder in ("ordinal", "label") if name in only else ():
            column = {"type": "ordinal", "classes": list(classes)}
            yield f"{name} {decoder}", stars(data, files, column, decoder)


def interval(values: list[float]) -> str:
    """The mean, and half its interval if there are several values."""
    from scipy.stats import t

    mean = f"{statistics.mean(values):.3f}"
    if len(values) == 1:
        return mean
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / len(values) ** 0.5
    return f"{mean} ± {half:.3f}"


def measured(spec: Any, seed: int, place: Path, changes: list[str]) -> dict[str, float]:
    from regard.fitting.experiment import Experiment

    what = spec
    if not isinstance(spec, str):
        what = str(place / "spec.yaml")
        Path(what).write_text(json.dumps(spec), encoding="utf-8")
    begun = time.perf_counter()
    experiment = Experiment.start(
        what,
        run=place / f"run{seed}",
        overrides=[f"training.seed={seed}", *changes],
        overwrite=True,
        quiet=True,
    )
    experiment.measured = ["test"]
    experiment.train()
    found = experiment.evaluations["test"]
    scores = {name: score.value for name, score in found.scores.items()}
    chance = {f"{name} by chance": one.value for name, one in found.chance.items()}
    return {**scores, **chance, "seconds": time.perf_counter() - begun}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = ["topics", "spans", "babi-1", "babi-2", "babi-8", "sst", "imdb"]
    parser.add_argument("data", nargs="?", type=Path, help="the folder of real data")
    parser.add_argument("--only", nargs="+", choices=known, default=known)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds")
    parser.add_argument(
        "--set", action="append", default=[], help="a setting of every training: training.epochs=1"
    )
    given = parse(parser)
    figures: dict[str, Any] = {}
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, spec in specs(given.only, given.data, Path(folder)):
            if spec is None:
                print(f"{name:<18} no data", flush=True)
                continue
            runs = figures[name] = []
            for seed in range(given.first, given.first + given.seeds):
                runs.append(measured(spec, seed, Path(folder), given.set))
                told = "  ".join(f"{key} {value:.3f}" for key, value in runs[-1].items())
                print(f"{name:<18} seed {seed}  {told}", flush=True)
                write_json(given.json, figures)
            told = "  ".join(f"{key} {interval([run[key] for run in runs])}" for key in runs[0])
            print(f"{name:<18} mean    {told}", flush=True)
            for key, bar in BARS.get(name, {}).items():
                lowest = min(run[key] for run in runs)
                if lowest < bar:
                    missed += 1
                    print(f"{'':<18} {key} {lowest:.3f} is below {bar}", flush=True)
    write_json(given.json, figures)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
