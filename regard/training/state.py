"""The complete state of a run, from which it can be resumed without a difference."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from torch import Tensor, nn

from regard.errors import RegardError
from regard.metrics import metric
from regard.spec.sections import TrainingSpec
from regard.storage.tensors import first_not_finite
from regard.training import checkpoint
from regard.training.checkpoint import FixedWeights, Snapshots
from regard.training.ema import MovingAverage
from regard.training.ledger import Ledger
from regard.training.optimizers import make_optimizer
from regard.training.schedules import make_schedule


@dataclass
class Position:
    """The progress of a run.

    step           updates made
    epoch, batch   the position of the next update in the data, both from 0
    evaluated      the step of the last evaluation
    seconds        elapsed, including evaluations
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    evaluated: int = 0
    seconds: float = 0.0
    log_rows: int = 0

    @property
    def epochs_begun(self) -> int:
        return self.epoch + (self.batch > 0)


class TrainingState:
    """Weights, optimizer, schedule, averages, patience, generators and data position, saved as one file."""

    def __init__(
        self,
        network: nn.Module,
        options: TrainingSpec,
        run: Path,
        accelerator: Accelerator,
        *,
        total: int | None,
    ) -> None:
        self.network, self.accelerator, self.path = network, accelerator, run / checkpoint.STATE
        self.position = Position()
        self.seed, self.rows = options.seed, options.batch_rows
        self.optimizer = make_optimizer(network, options.optimizer, options.lr)
        self.schedule = make_schedule(options.schedule, options.lr, total=total)
        self.average = None if options.ema is None else MovingAverage(network, options.ema)
        self.fixed = FixedWeights(network, run)
        self.snapshots = Snapshots(
            run,
            fixed=self.fixed.tensors,
            count=options.average,
            higher_is_better=metric(options.metric.rpartition(".")[2]).higher_is_better,
        )
        self.patience = Patience(options.waits)
        self.ledger = Ledger(allow_overflow=options.precision == "fp16")

    def save(self) -> None:
        """Save the state. Each process has its own generators and carried states; the first one writes. The states are
        written in the order of the rows of the whole batch, which any number of processes can share."""
        carried = {name: part.cpu() for name, part in _carried(self.network).items()}
        mine = Generators.capture(), carried
        everyone = gather_object([mine]) if self.accelerator.num_processes > 1 else [mine]
        if not self.accelerator.is_main_process:
            return
        optimizer_tensors, optimizer_values = checkpoint.pack_optimizer(self.optimizer)
        self.fixed.write()
        tensors = checkpoint.prefixed("weights", self.fixed.others(self.network.state_dict()))
        tensors |= checkpoint.prefixed("optimizer", optimizer_tensors)
        if self.average is not None:
            tensors |= checkpoint.prefixed("average", self.average.state())
        for rank, (generators, _) in enumerate(everyone):
            tensors |= checkpoint.prefixed(f"generators/{rank}", generators.tensors)
        tensors |= checkpoint.prefixed("carried", joined([carried for _, carried in everyone], self.rows))
        scaler = self.accelerator.scaler
        values = {
            "position": asdict(self.position),
            "optimizer": optimizer_values,
            "schedule": self.schedule.state(),
            "snapshots": self.snapshots.state(),
            "patience": self.patience.waited,
            "ledger": self.ledger.state(),
            "generators": [generators.values for generators, _ in everyone],
            "scaler": None if scaler is None else scaler.state_dict(),
        }
        checkpoint.write(self.path, tensors, values)
        self.snapshots.prune()

    def check_finite(self) -> None:
        """Raise an error if weights are not finite, so that they never replace a checkpoint."""
        weights = self.network.state_dict()
        if self.fixed.written:
            weights = self.fixed.others(weights)
        if self.average is not None:
            weights |= checkpoint.prefixed("average", self.average.state())
        name = first_not_finite(weights.items())
        if name is not None:
            raise RegardError(
                f"the weights {name} are not finite numbers (NaN or infinite) after step {self.position.step}; "
                "training stops here; the last checkpoint is intact.",
                fix="Lower training.lr or training.clip, give training.schedule.warmup, or use precision fp32.",
            )

    def move(self, run: Path) -> None:
        """Continue in another folder, to which the files have been moved."""
        self.path = run / checkpoint.STATE
        self.fixed.move(run)
        self.snapshots.move(run)

    def load(self) -> bool:
        """Restore the last checkpoint; False if there is none yet."""
        there = self.path.exists()
        if self.accelerator.num_processes > 1:
            found = gather_object([there])
            if any(found) and not all(found):
                raise RegardError(
                    f"process {found.index(False)} of {len(found)} does not see the checkpoint that others see.",
                    where=str(self.path),
                    fix="Put the folder of the run on a file system that all machines share.",
                )
        if not there:
            return False
        tensors, values = checkpoint.read(self.path)
        with checkpoint.understanding(self.path):
            self._restore(tensors, values)
        return True

    def _restore(self, tensors: dict[str, Any], values: dict[str, Any]) -> None:
        self._load_weights(self.fixed.joined(checkpoint.without_prefix("weights", tensors)))
        checkpoint.unpack_optimizer(
            self.optimizer, checkpoint.without_prefix("optimizer", tensors), values["optimizer"]
        )
        if self.average is not None:
            self.average.restore(checkpoint.without_prefix("average", tensors))
        self.position = Position(**values["position"])
        self.schedule.restore(values["schedule"])
        self.snapshots.restore(values["snapshots"])
        self.patience.waited = values["patience"]
        self.ledger.restore(values["ledger"])
        if self.accelerator.scaler is not None and values["scaler"]:
            self.accelerator.scaler.load_state_dict(values["scaler"])
        self._restore_generators(tensors, values["generators"])

    def _load_weights(self, weights: dict[str, Any]) -> None:
        own = self.network.state_dict()
        wrong = sorted(set(own) ^ set(weights)) or [
            name for name in own if own[name].shape != weights[name].shape
        ]
        if wrong:
            raise RegardError(
                f"this checkpoint belongs to another model: {', '.join(wrong[:5])} differ.",
                where=str(self.path),
                fix="Resume with the spec of the original run.",
            )
        checkpoint.copy_into(own, weights)

    def _restore_generators(self, tensors: dict[str, Any], values: list[dict[str, Any]]) -> None:
        """Restore the generators and carried states. Additional processes of a resumed run get new seeds."""
        rank, processes = self.accelerator.process_index, self.accelerator.num_processes
        if rank < len(values):
            mine = checkpoint.without_prefix(f"generators/{rank}", tensors)
            Generators(values[rank], mine).restore()
        else:
            drawn = np.random.SeedSequence([self.seed, rank, self.position.step])
            seed_everything(int(drawn.generate_state(1)[0]))
        carried = checkpoint.without_prefix("carried", tensors)
        if carried:
            self.network.carry(divided(carried, rank, processes))  # type: ignore[operator]


def joined(parts: Sequence[Mapping[str, Tensor]], rows: int | None) -> dict[str, Tensor]:
    """States (B, …) of all rows, from those of rows r, r + N, … of each process r of N.

    rows   number of rows of the whole batch; a process without one has carried a state that does not count
    """
    if len(parts) == 1:
        return dict(parts[0])
    whole = {}
    for name, first in parts[0].items():
        counted = [part[name] for rank, part in enumerate(parts) if rows is None or rank < rows]
        whole[name] = first.new_empty(sum(map(len, counted)), *first.shape[1:])
        for rank, part in enumerate(counted):
            whole[name][rank :: len(parts)] = part
    return whole


def divided(whole: Mapping[str, Tensor], rank: int, processes: int) -> dict[str, Tensor]:
    """The states of the rows of one process; those of the first row if it has none."""
    found = {name: state[rank::processes] for name, state in whole.items()}
    return {name: state if len(state) else whole[name][:1] for name, state in found.items()}


def _carried(network: nn.Module) -> dict[str, Any]:
    return network.carried() if hasattr(network, "carried") else {}  # type: ignore[operator]


class Patience:
    """limit: evaluations without a better metric after which the run stops; None: never"""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.waited = 0

    def observe(self, improved: bool) -> None:
        self.waited = 0 if improved else self.waited + 1

    @property
    def exhausted(self) -> bool:
        return self.limit is not None and self.waited >= self.limit


def seed_everything(seed: int) -> None:
    """Seed Python, numpy and torch (all devices)."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@dataclass(frozen=True)
class Generators:
    """The state of every generator of this process.

    values    Python's and numpy's, as plain numbers
    tensors   torch's by device ("cpu", "cuda"), each a vector of bytes
    """

    values: dict[str, Any]
    tensors: dict[str, Tensor]

    @classmethod
    def capture(cls) -> Generators:
        version, numbers, gauss = random.getstate()
        _, keys, position, has_gauss, cached = np.random.get_state(legacy=True)
        values = {
            "python": [version, list(numbers), gauss],
            "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
        }
        tensors = {"cpu": torch.get_rng_state()}
        if torch.cuda.is_available():
            tensors["cuda"] = torch.cuda.get_rng_state()
        if torch.backends.mps.is_available():
            tensors["mps"] = torch.mps.get_rng_state()
        return cls(values, tensors)

    def restore(self) -> None:
        version, numbers, gauss = self.values["python"]
        random.setstate((version, tuple(numbers), gauss))
        keys, position, has_gauss, cached = self.values["numpy"]
        np.random.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached))
        torch.set_rng_state(self.tensors["cpu"])
        if "cuda" in self.tensors and torch.cuda.is_available():
            torch.cuda.set_rng_state(self.tensors["cuda"])
        if "mps" in self.tensors and torch.backends.mps.is_available():
            torch.mps.set_rng_state(self.tensors["mps"])


@contextmanager
def undisturbed() -> Iterator[None]:
    """Restore the generators and the environment afterwards."""
    generators, environment = Generators.capture(), {**os.environ}
    try:
        yield
    finally:
        generators.restore()
        for name in {*os.environ, *environment}:
            if name not in environment:
                del os.environ[name]
            elif os.environ.get(name) != environment[name]:
                os.environ[name] = environment[name]
