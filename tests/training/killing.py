"""A program that trains the tiny task in child processes and kills them at random moments until one finishes.

    python killing.py RUN KILLS SEED OPTIONS

prints as JSON the steps of the checkpoints that killed children left. The children are forks, so that each
costs only milliseconds. Nothing is computed before the fork, because the threads of a computation do not
survive it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
import torch._dynamo  # every optimizer imports it; done once for all children

from regard.training import checkpoint
from tests.training.tiny import train


def live(run: Path, options: dict[str, object]) -> int:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            train(run, slow=0.01, resume=True, **options)
            status = 0
        finally:
            os._exit(status)
    return child


def reached(run: Path) -> int:
    path = run / checkpoint.STATE
    return int(checkpoint.read(path)[1]["position"]["step"]) if path.exists() else 0


def written(run: Path) -> int:
    """When the checkpoint was last replaced; 0 if there is none."""
    path = run / checkpoint.STATE
    return path.stat().st_mtime_ns if path.exists() else 0


def await_checkpoint(run: Path, child: int, before: int) -> None:
    """Wait until a child has written a checkpoint or has ended, however busy the machine is."""
    while written(run) == before and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        time.sleep(0.005)


def main() -> None:
    run, kills, seed, options = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], json.loads(sys.argv[4])
    torch.set_num_threads(1)
    moments, steps = random.Random(seed), []
    while len(steps) < kills:
        before = written(run)
        child = live(run, options)
        if len(steps) % 2:  # every other child gets as far as a checkpoint
            await_checkpoint(run, child, before)
        time.sleep(moments.uniform(0.0, 0.4))
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            break
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        steps.append(reached(run))
    _, status = os.waitpid(live(run, options), 0)
    print(json.dumps(steps))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
