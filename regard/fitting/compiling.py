"""Kernels that are compiled beside the first updates, on a machine that has none yet.

Compiling the kernels of a model takes a minute or more. On a fresh installation `regard train` therefore computes its
first updates in plain code, while a second process makes one update of the same spec and a few predictions, which
compile the kernels into their cache. When it has ended, the kernels compute the rest.

Plain code and kernels agree to rounding, not in every bit. So this is done for a new run alone: a resumed run compiles
first, and repeats every update that kernels computed bit by bit. metrics.json has the number
of updates in plain code (`plain_updates`). REGARD_COMPILE=first compiles before the first update in any case.
"""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import ExitStack, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from regard.data.batch import Batch
from regard.fitting.experiment import Experiment
from regard.model import best_device
from regard.spec.spec import write_spec
from regard.structures.kernels import plainly
from regard.training import Callback, world_size

WHEN = "REGARD_COMPILE"
FIRST = "first"
"""The value of the environment variable with which kernels are compiled before the first update."""
NETWORKS = Path(__file__).parents[1] / "fast" / "cpu"
"""The sources of the kernels of networks."""
FEW = 8
"""Inputs to predict, so that the kernels of the search are compiled too."""


def train_meanwhile(experiment: Experiment) -> None:
    """Train, with the kernels compiled meanwhile if this machine has none."""
    if not _is_fresh(experiment):
        experiment.train()
        return
    with Compiling(experiment) as compiling:
        experiment.callbacks = (*experiment.callbacks, compiling)
        experiment.announcer.compiling()
        experiment.train()


def _is_fresh(experiment: Experiment) -> bool:
    """Whether the kernels of this training were never compiled here, and can be kept."""
    device = experiment.device or best_device()
    if experiment.resumed or device != "cpu" or world_size() > 1 or os.environ.get(WHEN) == FIRST:
        return False
    if not NETWORKS.is_dir() or find_spec("numba") is None:
        return False
    from regard.structures.kernels.cpu.compilation import folder

    kept = folder(NETWORKS)
    return kept is not None and next(kept.rglob("*.nbi"), None) is None


class Compiling(Callback):
    """A process that compiles the kernels of a training, which computes in plain code until then."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment

    def __enter__(self) -> Compiling:
        self.plain, self.until = ExitStack(), ExitStack()
        self.process: subprocess.Popen[bytes] | None = None
        self.plain.enter_context(plainly())
        return self

    def _start(self) -> subprocess.Popen[bytes]:
        place = Path(self.until.enter_context(TemporaryDirectory(prefix="regard-compile-")))
        write_spec(place, self.experiment.spec)
        return subprocess.Popen(
            [sys.executable, "-m", "regard.fitting.compiling", str(place)],
            env={**os.environ, WHEN: FIRST, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def __exit__(self, *_: Any) -> None:
        self.plain.close()
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.until.close()

    def on_step(self, figures: dict[str, Any]) -> None:
        """Compile the kernels after the first updates, and let them take over as soon as they are compiled."""
        if self.process is None:  # not before: a second start would make the first update wait
            self.process = self._start()
        elif self.experiment.plain_updates is None and self.process.poll() is not None:
            self.plain.close()
            self.experiment.plain_updates = int(figures["step"])
            self.experiment.announcer.compiled(int(figures["step"]))

    def on_end(self, figures: dict[str, Any]) -> None:
        """Remember that plain code computed the whole training, if it did."""
        if self.experiment.plain_updates is None:
            self.experiment.plain_updates = int(figures["steps"])


def compile_for(place: Path) -> None:
    """Compute what a training with this spec computes: one update, and a few predictions."""
    experiment = Experiment.start(str(place / "spec.yaml"), run=place / "run", device="cpu", quiet=True)
    try:
        model, train = experiment.model, experiment.dataset("train")
        batch: Batch = next(iter(model.training_batches(train).epoch(0)))
        losses = model.network.train()(batch)
        sum(loss.total for loss in losses.values()).backward()
        with suppress(Exception):  # a model that continues texts
            rows = [train.raw(number) for number in range(min(FEW, len(train)))]
            model.predict([{name: row[name] for name in experiment.spec.inputs} for row in rows])
    finally:
        experiment.close()


if __name__ == "__main__":
    compile_for(Path(sys.argv[1]))
