"""bAbI with 1,000 questions per task: softmax hops and one chain, beside Kim et al. 2017.

    python bench/babi.py DATA                          all ten tasks, both systems
    python bench/babi.py DATA --tasks "2 15" --starts 3 --workers 16 --minutes 8 --json babi.json
    python bench/babi.py DATA --tasks 17 --cross 5      compare the settings of task 17

DATA is a folder with en.tar.xz, or with en/qa1_….txt in it. Each start runs `regard train recipes/babi.yaml`
in its own process with one thread, another seed and one of five settings in turn (task 17: the setting that
--cross chose). It holds out a tenth of the training questions. The start that answers most of these (ties:
the smallest loss) is evaluated on the test questions. Starts are made in turn for all tasks until --starts or
--minutes is reached. Resumable: a finished start in --folder is not repeated.

`--cross K` compares settings instead and reads no test question. It divides the training stories into K
parts. Each setting is trained K times as above, on all parts but one, and answers the questions of the
remaining part. So all 1,000 questions decide which setting is best; a tenth of them says little.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import sys
import tarfile
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evidence import commit, machine, sealed_result
from rich.console import Console
from rich.table import Table
from written import parse, write_json

from regard import RegardError
from regard.model.loading import read_metrics
from regard.model.saving import versions
from regard.storage.files import write_text

RECIPE = Path(__file__).parent.parent / "recipes" / "babi.yaml"
SYSTEMS = {"simple": "softmax", "structured": "facts"}
PUBLISHED = {
    2: {"simple": (87.3, 46.8), "structured": (84.7, 81.8)},
    3: {"simple": (52.6, 1.4), "structured": (40.5, 0.1)},
    11: {"simple": (97.8, 38.2), "structured": (97.7, 80.8)},
    13: {"simple": (95.6, 14.8), "structured": (97.0, 36.4)},
    14: {"simple": (99.9, 77.6), "structured": (99.7, 98.2)},
    15: {"simple": (100.0, 59.3), "structured": (100.0, 89.5)},
    16: {"simple": (97.1, 91.0), "structured": (97.9, 85.6)},
    17: {"simple": (61.1, 23.9), "structured": (60.6, 49.6)},
    18: {"simple": (86.4, 3.3), "structured": (92.2, 3.9)},
    19: {"simple": (21.3, 10.2), "structured": (24.4, 11.5)},
}
"""Answer % and fact % of Kim, Denton, Hoang, Rush 2017, table 3: the best of 20 starts on dev."""
THREE_FACTS = (3, 16)
FROM_ALL_FACTS = (17, 18, 19)
TIMELESS = (15, 16, 17, 18, 19)
"""Tasks in which only the relative order of two facts can matter, not their distance."""
VARIATIONS: tuple[tuple[str, ...], ...] = (
    (),
    ("training.lr=5e-3", "training.epochs=100"),
    ("training.lr=5e-3", "encoder.story.embedding=64", "encoder.question.embedding=64"),
    ("training.lr=3e-3", "training.epochs=100"),
    ("training.lr=5e-3", "training.epochs=100", "decoder.dropout=0.2"),
)
"""Start 1 is the recipe unchanged; start 2 has a lower learning rate and more epochs; start 3 is wider; start
4 has a still lower rate; start 5 adds dropout; start 6 is the recipe again, and so on."""
BEGINNINGS: tuple[tuple[str, ...], ...] = (
    (),
    ("encoder.story.times=next", "decoder.carry=beyond"),
    ("encoder.story.times=next", "encoder.story.start=words", "decoder.carry=beyond"),
    ("encoder.story.start=words", "decoder.carry=beyond"),
)
"""Initialization of the softmax hops. Starts 1 to 5: random. Starts 6 to 10: a hop moves on to the next
sentence. 11 to 15: to the next sentence or to one that shares words. 16 to 20: to one that shares words."""
THREE_AMONG_MANY = (
    "encoder.story.tie=adjacent",
    "encoder.story.hops=3",
    "encoder.story.last=30",
    "encoder.story.embedding=20",
    "encoder.question.embedding=20",
    "decoder.read=sum",
    "decoder.tie=true",
    "decoder.carry=add",
    "training.optimizer=sgd",
    "training.lr=0.32",
    "training.clip=1.25",
    "training.schedule=cosine",
    "training.metric=accuracy",
    "training.epochs=80",
)
"""For task 3: the memory network of Sukhbaatar et al. 2015, which finds answers by the words it has read. The
chain has the same weights."""
MANY_VARIATIONS: dict[str, tuple[tuple[str, ...], ...]] = {
    "simple": (
        ("decoder.linear_start=500", "training.epochs=100"),
        (),
        ("decoder.linear_start=500", "training.epochs=100", "decoder.dropout=0.2"),
        ("encoder.story.embedding=32", "encoder.question.embedding=32", "decoder.dropout=0.2"),
        ("encoder.story.last=20", "decoder.linear_start=500", "training.epochs=100"),
    ),
    "structured": (
        ("training.epochs=60",),
        ("training.epochs=60", "encoder.story.last=20"),
        ("training.epochs=60", "encoder.story.last=20", "decoder.dropout=0.2"),
        ("training.epochs=60", "encoder.story.last=20", "decoder.stay=true"),
        (
            "training.epochs=60",
            "encoder.story.last=20",
            "encoder.story.embedding=32",
            "encoder.question.embedding=32",
        ),
    ),
}
WIDE = ("encoder.story.embedding=64", "encoder.question.embedding=64", "training.epochs=80")
READ_IN_ORDER = "encoder.question={type: recurrent, cell: gru, size: 32, embedding: 64}"
DROPPED = ("encoder.story.dropout=0.1", "encoder.question.dropout=0.1")
POSITIONS: dict[str, tuple[str, ...]] = {
    "recipe": (),
    "wide": (*WIDE, "decoder.dropout=0.3"),
    "wide, words dropped": (*WIDE, "decoder.dropout=0.2", *DROPPED),
    "wide, adjacent": (*WIDE, "decoder.dropout=0.3", "encoder.story.tie=adjacent", "encoder.story.hops=2"),
    "wide, recurrent": (
        *WIDE,
        "decoder.dropout=0.3",
        "encoder.story.sentence=recurrent",
        READ_IN_ORDER,
        "training.lr=5e-3",
    ),
    "wide, no noise": (*WIDE, "decoder.dropout=0.3", "encoder.story.time_noise=0.0"),
    "wider": (
        "encoder.story.embedding=128",
        "encoder.question.embedding=128",
        "training.epochs=80",
        "training.lr=5e-3",
        "decoder.dropout=0.3",
    ),
    "wide, by words": (*WIDE, "decoder.dropout=0.3", "encoder.story.start=words"),
}
"""Settings of task 17 that --cross compares."""
BEST_POSITIONS = {"simple": "wide, words dropped", "structured": "wide, recurrent"}
"""The settings that answered most of the 1,000 training questions, with a fifth held out at a time."""
COSTLY_FIRST = (3, 2, 16, 18, 13, 11, 14, 15, 19, 17)


@dataclass(frozen=True)
class Start:
    """One training run: a task, a system, a seed."""

    task: int
    system: str
    seed: int
    train: str
    test: str
    folder: Path
    setting: tuple[str, ...] | None = None
    """For --cross: replaces the settings that starts take in turn; `test` is then the held-out part."""

    def overrides(self) -> list[str]:
        hops = 3 if self.task in THREE_FACTS else 2
        simple = self.system == "simple"
        changes = [
            "decoder={type: memory-network}" if simple else "decoder={type: memory-network, stay: false}",
            f"data.train={self.train}",
            f"data.test={self.test}",
            f"attention.select={SYSTEMS[self.system]}",
            f"decoder.hops={hops}",
            f"training.seed={self.seed}",
        ]
        if self.task == 3:
            variations = MANY_VARIATIONS[self.system]
            return [*changes, *THREE_AMONG_MANY, *variations[(self.seed - 1) % len(variations)]]
        if not simple:
            changes.append("decoder.rank=16")
        if self.task in TIMELESS and not simple:
            changes.append("decoder.reach=1")
        if self.task in FROM_ALL_FACTS:
            changes += ["decoder.read=all", "training.metric=accuracy"]
        elif simple:
            changes.append("decoder.read=sum")
        if self.setting is not None:
            return changes + list(self.setting)
        if self.task == 17:
            return changes + list(POSITIONS[BEST_POSITIONS[self.system]])
        if simple:
            changes += BEGINNINGS[(self.seed - 1) // len(VARIATIONS) % len(BEGINNINGS)]
        return changes + list(VARIATIONS[(self.seed - 1) % len(VARIATIONS)])


def train(start: Start) -> dict[str, Any]:
    """Train one start and return its scores."""
    import torch

    from regard.fitting.experiment import Experiment

    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()):
        Experiment.start(
            str(RECIPE),
            run=start.folder,
            overrides=start.overrides(),
            device="cpu",
            overwrite=True,
            quiet=True,
        ).train()
    return read_metrics(start.folder)


def unpacked(data: Path, folder: Path) -> Path:
    """The folder with the tasks' files."""
    if (data / "en").is_dir():
        return data / "en"
    archive = data / "en.tar.xz"
    if not archive.is_file():
        raise RegardError(
            "neither en/ nor en.tar.xz is here.", where=str(data), fix="Name the folder of bAbI 1.2."
        )
    if not (folder / "en").is_dir():
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
    return folder / "en"


def file_of(files: Path, task: int, part: str) -> str:
    found = sorted(files.glob(f"qa{task}_*_{part}.txt"))
    if not found:
        raise RegardError(f"there is no qa{task}_…_{part}.txt.", where=str(files))
    return str(found[0])


def all_starts(tasks: list[int], systems: list[str], starts: int, files: Path, folder: Path) -> list[Start]:
    """Start 1 of everything, the costly tasks first, then start 2 of everything, and so on."""
    order = sorted(tasks, key=lambda task: COSTLY_FIRST.index(task))
    return [
        Start(
            task,
            system,
            seed,
            file_of(files, task, "train"),
            file_of(files, task, "test"),
            folder / f"{task}-{system}-{seed}",
        )
        for seed in range(1, starts + 1)
        for task in order
        for system in systems
    ]


def crossed(task: int, systems: list[str], parts: int, files: Path, folder: Path) -> list[Start]:
    """One start for each setting and each held-out part of the training stories; `seed` numbers them."""
    stories: list[list[str]] = []
    for line in Path(file_of(files, task, "train")).read_text(encoding="utf-8").splitlines():
        if line.startswith("1 "):
            stories.append([])
        stories[-1].append(line)
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    named = []
    for part in range(parts):
        sides = {"rest": [], "held": []}  # type: dict[str, list[str]]
        for number, story in enumerate(stories):
            sides["held" if number % parts == part else "rest"] += story
        for side, lines in sides.items():
            write_text(folder / "parts" / f"{task}-{part}-{side}.txt", "\n".join(lines) + "\n")
        named.append([str(folder / "parts" / f"{task}-{part}-{side}.txt") for side in ("rest", "held")])
    return [
        Start(
            task,
            system,
            1 + number * parts + part,
            *named[part],
            folder / f"cross-{task}-{system}-{number}-{part}",
            setting,
        )
        for number, setting in enumerate(POSITIONS.values())
        for part in range(parts)
        for system in systems
    ]


def show_crossed(
    found: dict[tuple[int, str], dict[int, dict[str, Any]]], parts: int, console: Console
) -> None:
    table = Table("task", "system", "setting", "parts", "held out: answer %", "fact %", box=None)
    for (task, system), starts in sorted(found.items()):
        for number, name in enumerate(POSITIONS):
            scores = [
                starts[1 + number * parts + part]["scores"]["test"]
                for part in range(parts)
                if 1 + number * parts + part in starts
            ]
            if scores:
                means = [
                    f"{100 * sum(one[figure]['value'] for one in scores) / len(scores):.1f}"
                    for figure in ("accuracy", "fact_accuracy")
                ]
                table.add_row(str(task), system, name, str(len(scores)), *means)
    console.print(table)


def run(
    starts: list[Start], workers: int, seconds: float
) -> dict[tuple[int, str], dict[int, dict[str, Any]]]:
    """{(task, system): {seed: metrics}} of all starts that finished in time."""
    found: dict[tuple[int, str], dict[int, dict[str, Any]]] = {}
    waiting, until = [], time.monotonic() + seconds
    for start in starts:
        metrics = read_metrics(start.folder)
        if "scores" in metrics:
            found.setdefault((start.task, start.system), {})[start.seed] = metrics
        else:
            waiting.append(start)
    running: dict[Future[dict[str, Any]], Start] = {}
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        while running or (waiting and time.monotonic() < until):
            while waiting and len(running) < workers and time.monotonic() < until:
                start = waiting.pop(0)
                running[pool.submit(train, start)] = start
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                start = running.pop(done)
                found.setdefault((start.task, start.system), {})[start.seed] = done.result()
                print(
                    f"task {start.task} {start.system} start {start.seed} done", file=sys.stderr, flush=True
                )
    return found


def best(starts: dict[int, dict[str, Any]]) -> int:
    """The seed that did best on the held-out questions."""

    def rank(seed: int) -> tuple[float, float]:
        dev = starts[seed]["scores"]["dev"]
        return dev["accuracy"]["value"], -dev["loss"]["value"]

    return max(starts, key=rank)


def rows_of(found: dict[tuple[int, str], dict[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    rows = []
    for task, system in sorted(found):
        starts = found[task, system]
        seed = best(starts)
        test = starts[seed]["scores"]["test"]
        answer, fact = PUBLISHED[task][system]
        rows.append(
            {
                "task": task,
                "system": system,
                "starts": len(starts),
                "seed": seed,
                "answer": 100 * test["accuracy"]["value"],
                "fact": 100 * test["fact_accuracy"]["value"],
                "fact set": 100 * test["fact_set_accuracy"]["value"],
                "answer by chance": 100 * test["accuracy"]["chance"],
                "fact by chance": 100 * test["fact_accuracy"]["chance"],
                "published answer": answer,
                "published fact": fact,
                "seconds": starts[seed]["training"]["seconds"],
                "n": test["accuracy"]["n"],
            }
        )
    return rows


def show(rows: list[dict[str, Any]], console: Console) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False)
    heads = (
        "task",
        "system",
        "starts",
        "answer %",
        "published",
        "chance",
        "fact %",
        "published",
        "chance",
        "",
    )
    for head in heads:
        table.add_column(head, justify="left" if head in ("system", "") else "right")
    for row in rows:
        above = [row["answer"] >= row["published answer"], row["fact"] >= row["published fact"]]
        table.add_row(
            str(row["task"]),
            row["system"],
            str(row["starts"]),
            f"{row['answer']:.1f}",
            f"{row['published answer']:.1f}",
            f"{row['answer by chance']:.1f}",
            f"{row['fact']:.1f}",
            f"{row['published fact']:.1f}",
            f"{row['fact by chance']:.1f}",
            " ".join("[green]≥[/green]" if one else "[red]<[/red]" for one in above),
        )
    console.print(table)
    for figure in ("answer", "fact"):
        count = sum(row[figure] >= row[f"published {figure}"] for row in rows)
        console.print(f"{figure}: at or above the published figure in {count} of {len(rows)} rows")


def evidence(rows: list[dict[str, Any]], starts: int) -> dict[str, Any]:
    """The table as a stored result: {"task 2": {"simple answer": {value, n}}}, in percent."""
    scores: dict[str, Any] = {}
    for row in rows:
        task = scores.setdefault(f"task {row['task']}", {})
        for figure in ("answer", "fact"):
            task[f"{row['system']} {figure}"] = {"value": row[figure], "n": row["n"]}
    return sealed_result(
        {
            "command": f"python bench/babi.py DATA --starts {starts}",
            "commit": commit(),
            "machine": machine("cpu"),
            "versions": versions(),
            "scores": scores,
            "spec": "",
        }
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder with en.tar.xz or en/")
    parser.add_argument("--tasks", default=" ".join(map(str, PUBLISHED)), help="numbers, separated by spaces")
    parser.add_argument("--systems", default=" ".join(SYSTEMS), help="simple, structured or both")
    parser.add_argument("--starts", type=int, default=5, help="trainings of each task and system")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes at a time")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no further start after so long")
    parser.add_argument("--folder", type=Path, default=Path("runs/babi"), help="where the runs are kept")
    parser.add_argument("--cross", type=int, metavar="K", help="compare the settings of task 17 over K parts")
    parser.add_argument("--evidence", type=Path, metavar="FILE", help="write the table as evidence too")
    options = parse(parser, "evidence")
    os.environ["OMP_NUM_THREADS"] = os.environ["NUMBA_NUM_THREADS"] = "1"
    options.folder.mkdir(parents=True, exist_ok=True)
    tasks = [int(task) for task in options.tasks.split()]
    files = unpacked(options.data, options.folder)
    console = Console(highlight=False)
    if options.cross:
        several = [
            one
            for task in tasks
            for one in crossed(task, options.systems.split(), options.cross, files, options.folder)
        ]
        show_crossed(run(several, options.workers, 60 * options.minutes), options.cross, console)
        return 0
    starts = all_starts(tasks, options.systems.split(), options.starts, files, options.folder)
    began = time.monotonic()
    found = run(starts, options.workers, 60 * options.minutes)
    rows = rows_of(found)
    show(rows, console)
    console.print(f"{time.monotonic() - began:.0f} s with {options.workers} processes")
    write_json(options.json, {"rows": rows, "versions": versions()})
    if options.evidence is not None:
        write_json(options.evidence, evidence(rows, options.starts))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RegardError as error:
        sys.exit(f"error: {error}")
