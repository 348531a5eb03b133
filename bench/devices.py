"""Training with two processes against one with the same global batch: the same losses; killed and resumed with one
process and with two: the losses of the run that was never interrupted.

    python bench/devices.py [--steps 40] [--folder FOLDER] [--json FILE]
    python bench/devices.py --small                two models, one of them killed and resumed with one process

Four models: pairs of texts in batches of equal cost (bucketed), pairs in batches of equal rows, a running text whose
state is carried from span to span, and documents with a class. The processes are forks on the CPU, connected by gloo.
Exit code 1 if a loss differs by more than 1e-5 of its size, a score on dev differs, or a killed run leaves a process.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
os.environ.setdefault("REGARD_COMPILE", "first")
sys.path.insert(0, str(Path(__file__).parents[1]))

import torch
import torch._dynamo  # every optimizer imports it; done once for all forks
from written import parse, write_json

from regard.evaluation import evaluate, inference
from regard.fitting.experiment import Experiment
from regard.training import Callback
from regard.training.launch import DESERTED

TOLERANCE = 1e-5
PAIRS = """
inputs:    {source: {type: text}}
outputs:   {target: {type: text}}
encoder:   {type: recurrent, cell: gru, size: 12, embedding: 12}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 12, embedding: 12}
search:    {max_length: 9}
training:  {%s, lr: 0.01, evaluate_every: 10, checkpoint_every: 5, metric: bleu}
data:      {train: pairs.tsv, dev: dev.tsv}
"""
SPECS = {
    "translation": PAIRS % "batch_rows: 9, accumulate: 2",
    "bucketed": PAIRS % "batch_tokens: 90, bucket: 4",
    "stream": """
outputs:   {text: {type: stream, unit: char}}
decoder:   {type: language, cell: lstm, size: 12, embedding: 8}
training:  {batch_rows: 5, span: 9, lr: 0.01, evaluate_every: 10, checkpoint_every: 5}
data:      {train: book.txt, dev: book.txt}
""",
    "document": """
inputs:    {document: {type: document, case: lower, split: punctuation}}
outputs:   {label: {type: label}}
encoder:
  type: hierarchical
  words:     {embedding: 8, cell: gru, size: 6, values: inputs}
  attention: {score: {type: additive, size: 8}, select: softmax}
  sentences: {cell: gru, size: 6, values: inputs}
decoder:   {type: label, attention: {score: {type: additive, size: 8}, select: softmax}}
training:  {batch_rows: 7, lr: 0.01, evaluate_every: 10, checkpoint_every: 5, metric: accuracy}
data:      {world: {type: reviews, train: 80, dev: 17, test: 5}}
""",
}
KILLED = ("stream", "bucketed")
"""The models whose runs are killed and resumed."""
BETWEEN = 15
"""The number of updates after which a run is killed: its last checkpoint is older or as old."""


def write_data(folder: Path) -> None:
    draw = random.Random(3)
    words = ["red", "green", "blue", "old", "new", "cat", "dog", "tree"]

    def pair() -> str:
        source = [draw.choice(words) for _ in range(draw.randint(1, 7))]
        return f"{' '.join(source)}\t{' '.join(word[::-1] for word in reversed(source))}\n"

    (folder / "pairs.tsv").write_text("source\ttarget\n" + "".join(pair() for _ in range(131)))
    (folder / "dev.tsv").write_text("source\ttarget\n" + "".join(pair() for _ in range(23)))
    (folder / "book.txt").write_text("".join(f"{' '.join(draw.sample(words, 5))}.\n" for _ in range(160)))
    for name, spec in SPECS.items():
        (folder / f"{name}.yaml").write_text(spec.lstrip())


def forked(processes: int, work: Callable[[], Any], *, seconds: float = 300.0) -> list[int]:
    """Exit codes of processes that do this work together, each in a fork. 99: it had to be killed after `seconds`."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    children = [_fork(rank, processes, port, work) for rank in range(processes)]
    codes: dict[int, int] = {}
    end = time.monotonic() + seconds
    while len(codes) < processes:
        for child in children:
            if child not in codes and (ended := os.waitpid(child, os.WNOHANG))[0]:
                codes[child] = os.waitstatus_to_exitcode(ended[1])
                if codes[child]:  # the others have seconds to notice
                    end = min(end, time.monotonic() + 20.0)
            elif child not in codes and time.monotonic() > end:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                codes[child] = 99
        time.sleep(0.01)
    return [codes[child] for child in children]


def _fork(rank: int, processes: int, port: int, work: Callable[[], Any]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        if processes > 1:
            os.environ |= {
                "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(processes),
                "LOCAL_WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
            }  # fmt: skip
        work()
        status = 0
    except SystemExit as stop:
        status = int(stop.code or 0)
    except BaseException as error:
        print(f"process {rank}: {type(error).__name__}: {error}", file=sys.stderr)
    finally:
        sys.stdout.flush()
        os._exit(status)


class Killer(Callback):
    """Kills its process after some updates."""

    def on_step(self, figures: dict[str, Any]) -> None:
        if figures["step"] >= BETWEEN:
            os.kill(os.getpid(), signal.SIGKILL)


def train(run: Path, name: str, steps: int, callbacks: tuple[Callback, ...] = ()) -> None:
    """Start a run, or resume it."""
    settings = [f"training.steps={steps}"]
    if (run / "state" / "training.safetensors").exists():
        experiment = Experiment.resume(run, overrides=settings, device="cpu", quiet=True)
    else:
        experiment = Experiment.start(f"{name}.yaml", run=run, overrides=settings, device="cpu", quiet=True)
    experiment.callbacks = callbacks
    experiment.train()


def share(run: Path, found: Path) -> None:
    """Evaluate a model in small batches, alone and shared; write what differs, from each process."""
    inference.EVALUATE_COST = 40  # many batches, the last of them uneven
    experiment = Experiment.resume(run, device="cpu", quiet=True)
    dev = experiment.dataset("dev")
    experiment.model.eval()
    wanted = ["loss", "bleu", "exact"]
    alone, shared = (evaluate(experiment.model, dev, wanted, shared=one) for one in (False, True))
    differ = [] if alone.to_dict() == shared.to_dict() else ["scores"]
    differ += [] if alone.predictions == shared.predictions else ["predictions"]
    rows = len(shared.predictions["target"])
    found.write_text(json.dumps({"differ": differ, "rows": rows, "of": len(dev)}))


def losses(run: Path) -> dict[tuple[str, str], float]:
    """{(step, figure): value} of the log, without times."""
    with (run / "log.csv").open() as file:
        return {
            (row["step"], name): float(value)
            for row in csv.DictReader(file)
            for name, value in row.items()
            if value and (name.startswith(("loss", "dev.")) or name == "gradient_norm")
        }


def difference(one: Path, other: Path) -> float:
    """The largest difference of two logs, relative to the size of the figure; infinite if one has more figures."""
    first, second = losses(one), losses(other)
    if first.keys() != second.keys() or not first:
        return float("inf")
    return max(abs(first[key] - second[key]) / max(1.0, abs(first[key])) for key in first)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--small", action="store_true")
    asked = parse(parser)
    torch.set_num_threads(1)
    target = asked.json.resolve() if asked.json else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = (asked.folder or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        os.environ["REGARD_CACHE"] = str(folder / "cache")
        os.chdir(folder)
        write_data(folder)
        rows = measured(asked.steps, small=asked.small)
    for row in rows:
        print(f"{row['what']:<58} {row['difference']:<10.2g} {row['seconds']:5.1f} s  {row['verdict']}")
    write_json(target, rows)
    sys.exit(any(row["verdict"] != "ok" for row in rows))


def measured(steps: int, *, small: bool = False) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []

    def add(what: str, difference: float, began: float, *, fine: bool = True) -> None:
        verdict = "ok" if fine and difference <= TOLERANCE else "WRONG"
        seconds = time.monotonic() - began
        rows.append(
            {"what": what, "difference": difference, "seconds": round(seconds, 2), "verdict": verdict}
        )

    names = ["stream", "bucketed"] if small else list(SPECS)
    began = time.monotonic()
    one = forked(1, lambda: [train(Path("one") / name, name, steps) for name in names])

    def with_two() -> None:
        for name in names:
            train(Path("two") / name, name, steps)
        share(Path("two/bucketed"), Path(f"shared-{os.environ['RANK']}.json"))

    two = forked(2, with_two)
    for name in names:
        apart = difference(Path("one") / name, Path("two") / name)
        add(f"{name}: two processes", apart, began, fine=(one, two) == ([0], [0, 0]))
    told = [json.loads(Path(f"shared-{rank}.json").read_text()) for rank in (0, 1)]
    fine = all(not one["differ"] and one["rows"] == one["of"] for one in told)
    add("an evaluation shared by two processes", 0.0, began, fine=fine)
    for name in KILLED[:1] if small else KILLED:
        began = time.monotonic()
        codes = forked(2, lambda name=name: train(Path("killed") / name, name, steps, (Killer(),)))
        add(
            f"{name}: the other ends when one is killed",
            0.0,
            began,
            fine=codes == [-signal.SIGKILL, DESERTED],
        )
        for processes in (1,) if small else (1, 2):
            began = time.monotonic()
            run = Path(f"resumed-{processes}") / name
            shutil.copytree(Path("killed") / name, run)
            codes = forked(processes, lambda run=run, name=name: train(run, name, steps))
            what = f"{name}: two, killed, resumed with {processes}"
            add(what, difference(Path("one") / name, run), began, fine=codes == [0] * processes)
    return rows


if __name__ == "__main__":
    main()
