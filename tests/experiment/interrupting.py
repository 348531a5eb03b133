"""A program that trains in child processes; each is killed, or finds the disk full, at a different write.

    python -m tests.experiment.interrupting FOLDER kill:STRIDE full:STRIDE random:MOMENTS

Python's audit hooks report the writes: files opened for writing, created, renamed and removed. After each
interruption another child continues the run. The program prints as JSON, for each kind, the number of
interruptions and the errors found afterwards.
"""

from __future__ import annotations

import errno
import json
import os
import random
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from regard.errors import RegardError
from regard.fitting.experiment import Experiment

SPEC = """
inputs:    {source: {type: text, unit: char}}
outputs:   {target: {type: text, unit: char}}
encoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
attention: {score: additive, select: softmax}
decoder:   {type: recurrent, cell: gru, size: 4, embedding: 4}
training:  {steps: 4, batch_rows: 8, evaluate_every: 2}
search:    {max_length: 4}
data:      {train: words.tsv, dev: words.tsv}
"""
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")
LIMITS = (0, 64, 512, 2048, 8192)


def train(run: Path) -> None:
    """Resume the run if it has a training state, else start it."""
    if (run / "state" / "training.safetensors").exists():
        Experiment.resume(run, device="cpu", quiet=True).train()
    else:
        Experiment.start("small.yaml", run=run, overwrite=run.exists(), device="cpu", quiet=True).train()


def life(run: Path, before: Callable[[], Any] = lambda: None) -> int:
    """Train in a child; return its exit code: 0, 2 for a RegardError, 1 for other errors, −9 if killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            before()
            train(run)
            status = 0
        except RegardError:
            status = 2
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def watch(folder: Path, act: Callable[[int, str], None]) -> Callable[[], None]:
    """Return the installer of a hook that calls `act(number, path)` before each write to a folder."""
    seen = 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if event == "open":
            path, mode, flags = arguments
            if not (isinstance(mode, str) and set(mode) & set("wax+")) and not (flags or 0) & WRITING:
                return
        elif event in CHANGES:
            path = arguments[0]
        else:
            return
        if isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(f"{folder}/"):
            seen += 1
            act(seen, os.fsdecode(path))

    return lambda: sys.addaudithook(hook)


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    ways = [(how, int(stride)) for how, _, stride in (given.partition(":") for given in sys.argv[2:])]
    torch.set_num_threads(1)
    os.chdir(folder)
    words = [f"{number:b}".replace("1", "a").replace("0", "b") for number in range(1, 30)]
    Path("words.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
    Path("small.yaml").write_text(SPEC)
    train(folder / "warm")  # loads the kernels once for all children
    outside = folder.with_name(f"{folder.name}.count")
    assert life(folder / "whole", watch(folder, lambda number, _: outside.write_text(str(number)))) == 0
    total = int(outside.read_text())
    outside.unlink()
    truth = (folder / "whole" / "model.safetensors").read_bytes()
    found = {how: interrupt(folder, how, stride, total, truth) for how, stride in ways}
    print(json.dumps(found))


def interrupt(folder: Path, how: str, stride: int, total: int, truth: bytes) -> dict[str, Any]:
    """Test one kind of interruption; a whole run makes `total` writes and ends with `truth`."""
    wrong, interrupted = [], 0

    def kill(number: int) -> Callable[[int, str], None]:
        return lambda seen, _: os.kill(os.getpid(), signal.SIGKILL) if seen == number else None

    def full(number: int) -> Callable[[int, str], None]:
        def act(seen: int, path: str) -> None:
            if seen == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)

        return act

    def alarm(seconds: float) -> Callable[[], None]:
        def begin() -> None:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the default action kills
            signal.setitimer(signal.ITIMER_REAL, seconds)

        return begin

    def small_files(limit: int) -> Callable[[], None]:
        def begin() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

        return begin

    cases: list[tuple[str, Callable[[], Any]]] = []
    if how == "kill":
        cases = [(f"write {n}", watch(folder, kill(n))) for n in range(1, total + 1, stride)]
    elif how == "full":
        cases = [(f"write {n}", watch(folder, full(n))) for n in range(1, total + 1, stride)]
        cases += [(f"files of {limit} bytes", small_files(limit)) for limit in LIMITS]
    else:
        moments = random.Random(5)
        cases = [(f"moment {n}", alarm(moments.uniform(0.01, 0.6))) for n in range(stride)]
    for name, before in cases:
        run = folder / f"{how} {name}"
        ended = life(run, before)
        interrupted += ended != 0
        expected = {"kill": (-9,), "full": (0, 2), "random": (0, -signal.SIGALRM)}[how]
        if ended not in expected:
            wrong.append(f"{name}: ended with {ended}")
        again = life(run)
        if again != 0:
            wrong.append(f"{name}: could not go on ({again})")
        elif (run / "model.safetensors").read_bytes() != truth:
            wrong.append(f"{name}: other weights")
        left = [path.name for path in run.rglob("*.regard-tmp")] if run.exists() else []
        if left:
            wrong.append(f"{name}: left {left}")
    if sorted(path.name for path in folder.iterdir() if path.is_file()) != ["small.yaml", "words.tsv"]:
        wrong.append("files of the user's are gone, or others came")
    return {"writes": total, "cases": len(cases), "interrupted": interrupted, "wrong": wrong}


if __name__ == "__main__":
    main()
