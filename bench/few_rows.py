"""Small trainings on the first few rows of a task: SST, titles of AG News and SICK, by whatever reads the words.

AG News takes the place of TREC: short texts of four classes; a digest of the title decides which are train, dev or
test. SST is whole sentences of two classes, SICK pairs of sentences of three. Each model has the same decoder: `label`
with additive attention, or `decomposable` on SICK's pairs. Settings are chosen on 300 rows of dev with seed 1; then
seeds 2 and 3 follow with other training rows. 1,000 rows of test are read once for each model.
"""

from __future__ import annotations

import csv
import json
import lzma
import math
import random
import re
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

SEEDS, DEV, TEST = (1, 2, 3), 300, 1000
RATES = (0.003, 0.01)
SIZE = 100
GRU = {"type": "recurrent", "cell": "gru", "size": 64, "dropout": 0.3, "embedding": SIZE}
MEAN = {"type": "mean", "dropout": 0.3, "word_dropout": 0.05, "embedding": SIZE}
SHORT = {"epochs": 30, "patience": 6, "ema": 0.99}
LONG = {**SHORT, "epochs": 60, "patience": 12}
WORD = re.compile(r"\w+|[^\w\s]")
Rows = dict[str, list[dict[str, str]]]
Setting = tuple[dict[str, Any], dict[str, Any]]
"""An encoder and a training."""


def find(folder: Path, name: str) -> Path:
    """A file of the data, in the folder itself or in one below it."""
    for path in (folder / name, *sorted(folder.glob(f"*/{name}"))):
        if path.is_file():
            return path
    sys.exit(f"{folder} holds no {name}")


def words(text: str) -> str:
    return " ".join(WORD.findall(text.lower()))


def sick(data: Path) -> Rows:
    found: Rows = {"train": [], "dev": [], "test": []}
    names = {"TRAIN": "train", "TRIAL": "dev", "TEST": "test"}
    with lzma.open(find(data, "SICK.txt.xz"), "rt", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            pair = {"first": words(row["sentence_A"]), "second": words(row["sentence_B"])}
            found[names[row["SemEval_set"]]].append({**pair, "answer": row["entailment_label"]})
    return found


def titles(data: Path) -> Rows:
    found: Rows = {"train": [], "dev": [], "test": []}
    with lzma.open(find(data, "test.csv.xz"), "rt", encoding="utf-8", newline="") as file:
        for label, title, _ in csv.reader(file):
            text = words(title)
            digest = blake2b(text.encode(), digest_size=2).digest()[0]
            split = "dev" if digest < 26 else "test" if digest < 77 else "train"
            found[split].append({"text": text, "answer": label})
    return found


def sst(data: Path) -> Rows:
    found: Rows = {}
    for split in ("train", "dev", "test"):
        with lzma.open(find(data, f"{split}.txt.xz"), "rt", encoding="utf-8") as file:
            trees = [line for line in file if line[1] != "2"]
        leaves = (re.findall(r"\(\d ([^() ]+)\)", tree) for tree in trees)
        found[split] = [
            {"text": " ".join(some).lower(), "answer": "good" if tree[1] in "34" else "bad"}
            for tree, some in zip(trees, leaves, strict=True)
        ]
    return found


TASKS = {"sick": sick, "titles": titles, "sst": sst}


def gain(vectors: Sequence[float], random: Sequence[float]) -> tuple[float, float]:
    """The mean difference of the seeds, and half its interval."""
    from scipy.stats import t

    differences = np.array(vectors) - np.array(random)
    quantile = float(t.ppf(0.975, len(differences) - 1))
    return float(differences.mean()), quantile * float(differences.std(ddof=1)) / math.sqrt(len(differences))


def random_settings() -> list[Setting]:
    """Word embeddings that start at random, read by a GRU or as they are."""
    return [(encoder, {**LONG, "lr": rate}) for encoder in (GRU, MEAN) for rate in RATES]


def described(task: str, files: dict[str, str], encoder: dict[str, Any], training: dict[str, Any]) -> Any:
    training = {"batch_rows": 32, "metric": "accuracy", **training}
    if task == "sick":
        return {
            "inputs": {"first": {"type": "text"}, "second": {"type": "text", "shared": "first"}},
            "outputs": {"answer": {"type": "label"}},
            "encoder": {"first": encoder, "second": {"type": "shared", "of": "first"}},
            "decoder": {"type": "decomposable", "size": 100, "dropout": 0.2},
            "training": training,
            "data": files,
        }
    return {
        "inputs": {"text": {"type": "text"}},
        "outputs": {"answer": {"type": "label"}},
        "encoder": encoder,
        "decoder": {"type": "label", "attention": {"score": "additive"}},
        "training": training,
        "data": files,
    }


def trained(task: str, files: dict[str, str], setting: Setting, seed: int, folder: Path) -> dict[str, Any]:
    """Train one model; its accuracies, its seconds, and what vectors cover."""
    import regard
    from regard.fitting.experiment import Experiment

    encoder, training = setting
    spec = regard.Spec(**described(task, files, encoder, {**training, "seed": seed}))
    start = time.perf_counter()
    model = Experiment(spec, folder / "run", device="cpu", quiet=True).train()
    found = {split: 100 * model.metrics["scores"][split]["accuracy"]["value"] for split in ("dev", "test")}
    covered: dict[str, Any] = next(iter(model.metrics.get("pretrained", {}).values()), {})
    shutil.rmtree(folder / "run")
    shown = {key: encoder[key] for key in ("type", "layers", "train") if key in encoder}
    seconds = time.perf_counter() - start
    return {**found, "seconds": seconds, "setting": {**shown, "lr": training["lr"]}, "covered": covered}


class Trainings:
    """All trainings of a table; what is finished lies in a folder, and is not repeated.

    settings   (way, rows) → the settings among which dev chooses
    """

    def __init__(
        self, data: Path, settings: Callable[[str, int], list[Setting]], kept: Path, scratch: Path
    ) -> None:
        self.data, self.settings, self.kept, self.scratch = data, settings, kept, scratch
        self.rows: dict[str, Rows] = {}
        kept.mkdir(parents=True, exist_ok=True)

    def files(self, task: str, count: int, seed: int) -> dict[str, str]:
        if task not in self.rows:
            self.rows[task] = TASKS[task](self.data)
        found = {}
        most = {"train": count, "dev": DEV, "test": TEST}
        for split, rows in self.rows[task].items():
            some = random.Random(seed if split == "train" else 0).sample(rows, min(most[split], len(rows)))
            path = self.scratch / f"{task}.{split}.jsonl"
            path.write_text(
                "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in some), encoding="utf-8"
            )
            found[split] = str(path)
        return found

    def one(self, task: str, way: str, count: int, number: int, seed: int) -> dict[str, Any]:
        path = self.kept / f"{task}-{way}-{count}-{number}-{seed}.json"
        if not path.is_file():
            setting = self.settings(way, count)[number]
            found = trained(task, self.files(task, count, seed), setting, seed, self.scratch)
            path.write_text(json.dumps(found), encoding="utf-8")
            print(path.stem, {key: round(found[key], 1) for key in ("dev", "test", "seconds")}, flush=True)
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return result

    def way(self, task: str, way: str, count: int) -> dict[str, Any]:
        """The models of all seeds, in the setting that is best on dev."""
        tried = [
            self.one(task, way, count, number, SEEDS[0]) for number in range(len(self.settings(way, count)))
        ]
        best = max(range(len(tried)), key=lambda number: tried[number]["dev"])
        runs = [self.one(task, way, count, best, seed) for seed in SEEDS]
        return {
            "task": task,
            "rows": count,
            "way": way,
            "setting": runs[0]["setting"],
            "covered": runs[0]["covered"],
            "dev": [one["dev"] for one in runs],
            "test": [one["test"] for one in runs],
            "seconds": [one["seconds"] for one in runs],
        }


def with_gains(figures: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The ways of one task and one number of rows, with the gain over `random` and its interval."""
    plain = next((one for one in figures if one["way"] == "random"), None)
    return [
        one
        if plain is None or one is plain
        else {**one, **dict(zip(("gain", "interval"), gain(one["test"], plain["test"]), strict=True))}
        for one in figures
    ]


def told(row: dict[str, Any]) -> tuple[str, str]:
    """The accuracies of a row and its gain, as they stand in a table."""
    each = ", ".join(f"{score:.1f}" for score in row["test"])
    gained = f"{row['gain']:+.1f} ± {row['interval']:.1f}" if "gain" in row else ""
    return f"{np.mean(row['test']):.1f} ({each})", gained
