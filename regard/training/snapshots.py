"""Snapshots of weights: the best so far, and the k best (or, without evaluations, the last k) to average."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.storage.files import naming
from regard.training.checkpoint import copy_into, read, write

FOLDER = "state/kept"
OWN = re.compile(r"step-[0-9]{8,}\.safetensors")


@dataclass(frozen=True)
class Snapshot:
    step: int
    metrics: dict[str, float]
    value: float | None
    """The metric that decides; None without an evaluation."""


class Snapshots:
    """Keeps the `count` best weights in RUN/state/kept, the best first.

    A file is written completely before the training state refers to it, and removed only after the training
    state no longer refers to it, so that a run killed in between finds all its files.
    """

    def __init__(self, run: Path, *, count: int, higher_is_better: bool) -> None:
        self.folder, self.count, self.higher = run / FOLDER, max(count, 1), higher_is_better
        self.kept: list[Snapshot] = []

    @property
    def best(self) -> Snapshot | None:
        return self.kept[0] if self.kept else None

    def better(self, value: float) -> bool:
        """Whether `value` is better than the best so far. NaN is never better."""
        if self.best is None or self.best.value is None:
            return value == value
        return value > self.best.value if self.higher else value < self.best.value

    def offer(self, network: nn.Module, kept: Snapshot, *, write_files: bool) -> None:
        """Keep these weights if they are among the best; of equal values the one with the lower loss on dev is better,
        then the later one."""
        self.kept = sorted([*self.kept, kept], key=self._rank)[: self.count]
        if kept in self.kept and write_files:
            write(self._file(kept.step), network.state_dict(), {"step": kept.step, "metrics": kept.metrics})

    def _rank(self, kept: Snapshot) -> tuple[float, float, int]:
        """Sorts the best first. Without an evaluation, later is better."""
        value, loss = kept.value or 0.0, kept.metrics.get("loss", 0.0)
        value, loss = (
            float("inf") if one != one else one for one in (-value if self.higher else value, loss)
        )
        return value, loss, -kept.step

    def prune(self) -> None:
        """Remove snapshots that are no longer referred to, and no other files."""
        named = {self._file(kept.step) for kept in self.kept}
        for file in self.folder.glob("step-*.safetensors"):
            if OWN.fullmatch(file.name) and file.is_file() and file not in named:
                with naming(file):
                    file.unlink(missing_ok=True)

    def load_best(self, network: nn.Module) -> None:
        if self.best is not None:
            copy_into(network.state_dict(), read(self._file(self.best.step))[0])

    def load_average(self, network: nn.Module) -> None:
        """Load the mean of the kept weights, summed in double precision. Integers are taken from the best."""
        sums: dict[str, Tensor] = {}
        for kept in self.kept:
            for name, tensor in read(self._file(kept.step))[0].items():
                if not tensor.is_floating_point():
                    sums.setdefault(name, tensor)
                elif name in sums:
                    sums[name] += tensor
                else:
                    sums[name] = tensor.to(torch.float64)
        mean = {
            name: value / len(self.kept) if value.is_floating_point() else value
            for name, value in sums.items()
        }
        copy_into(network.state_dict(), mean)

    def move(self, run: Path) -> None:
        self.folder = run / FOLDER

    def _file(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}.safetensors"

    def state(self) -> list[dict[str, Any]]:
        return [{"step": kept.step, "metrics": kept.metrics, "value": kept.value} for kept in self.kept]

    def restore(self, state: list[dict[str, Any]]) -> None:
        self.kept = [Snapshot(**entry) for entry in state]
