"""Sweeps by processes that are forked from one that has run a tiny sweep: they import and load nothing.

    python -m tests.sweep.forked FOLDER [URL]

For SQLite, and for a database if its URL is given: two processes share a study; one is killed in the middle of a trial
and started again; then the printed commands of the best and of the killed trial are typed alone. What happened is
printed as JSON.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import optuna
import torch

import regard
from regard.cli.main import main
from regard.sweep.plan import make_plan
from regard.sweep.ranges import typed_ranges
from tests.sweep.processes import dev_score, training
from tests.sweep.small import VARY, small_task

TRIALS, LONGEST = 4, 120.0


def forked(words: Sequence[str]) -> int:
    """The number of a process that runs `regard …`."""
    pid = os.fork()
    if pid:
        return pid
    torch.set_num_threads(1)
    sys.argv = ["regard", *words]
    with open(f"log-{os.getpid()}.txt", "w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    try:
        main()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        os._exit(1)
    os._exit(0)


def ended(pid: int) -> None:
    """Wait for a process, which must end well."""
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert code == 0, (code, "\n".join(path.read_text() for path in Path().glob("log-*.txt")))


def run(folder: Path, storage: str) -> dict[str, object]:
    spec = small_task(folder, epochs=3)
    os.chdir(folder)
    words = ["sweep", spec.name, *(word for one in VARY for word in ("--vary", one)), "--trials", str(TRIALS)]
    words += ["-o", "sweeps/small"]
    words += ["--storage", storage] if storage else []
    first, second = forked(words), forked(words)
    number, rows, end = -1, 0, time.monotonic() + LONGEST
    while number < 0 and time.monotonic() < end:
        number, rows = training(Path("sweeps/small"), first)
        time.sleep(0.002)
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    third = forked(words)
    ended(second)
    ended(third)
    url = storage or f"sqlite:///{folder / 'sweeps/small/study.db'}"
    trials = optuna.load_study(study_name="small", storage=url).trials
    plan = make_plan(spec.name, typed_ranges(VARY))
    best = min(trials, key=lambda one: (one.value, one.number))
    alone = {}
    for one in {best.number: best, number: trials[number]}.values():
        command = plan.command(plan.values(one.params), 1)
        ended(forked([*shlex.split(command)[1:], "-o", f"runs/{one.number}", "--no-report", "--quiet"]))
        alone[one.number] = (one.value, dev_score(Path(f"runs/{one.number}"), "loss"))
    printed = "\n".join(path.read_text() for path in Path().glob("log-*.txt"))
    return {
        "killed": number,
        "rows": rows,
        "states": [one.state.name for one in trials],
        "settings": [json.dumps(one.params, sort_keys=True) for one in trials],
        "alone": alone,
        "best": best.number,
        "command": plan.command(plan.values(best.params), 1),
        "printed": printed,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    place = Path(sys.argv[1])
    warm = small_task(place / "warm", epochs=1)
    os.chdir(warm.parent)
    regard.sweep(
        warm, vary={"encoder.cell": ["gru", "lstm"]}, sampler="grid", quiet=True
    )  # both kernels, and the page
    storages = {"sqlite": "", **({"database": sys.argv[2]} if len(sys.argv) > 2 else {})}
    print(json.dumps({name: run(place / name, url) for name, url in storages.items()}))
