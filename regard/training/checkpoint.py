"""Training state in one file, snapshots of weights, and the weights that are not trained.

Snapshots are the best weights so far, and the k best (or, without evaluations, the last k) to average.

Tensors are written as safetensors, everything else as JSON in the header; nothing is pickled. A single file is replaced
by one rename: whenever the process dies, the file on disk is a complete checkpoint, the old one or the new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from regard.errors import RegardError
from regard.storage.files import naming
from regard.storage.manifest import FIXED_FILE, STATE_FILE
from regard.storage.tensors import VALUES, read_tensors, write_tensors

STATE = STATE_FILE
"""The file of the training state, in the folder of a run."""
FOLDER = "state/kept"
OWN = re.compile(r"step-[0-9]{8,}\.safetensors")
LEAST_BYTES = 1 << 20
"""Fewer fixed weights than this are part of each checkpoint."""


def write(path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Replace `path` atomically."""
    write_tensors(path, _separate(tensors), {VALUES: json.dumps(values)})


def read(path: Path, *, own: bool = True) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the result of `write` and check its digest; own: see `read_tensors`."""
    tensors, metadata = read_tensors(path, "this checkpoint", own=own)
    with understanding(path):
        return tensors, dict(json.loads(metadata.get(VALUES, "{}")))


@contextmanager
def understanding(path: Path) -> Iterator[None]:
    """Turn exceptions into an error: the checkpoint is readable, but not in the format of this version."""
    try:
        yield
    except RegardError:
        raise
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        RecursionError,
        RuntimeError,
    ) as error:
        raise RegardError(
            f"this version of regard cannot resume this checkpoint: {type(error).__name__} {error}.",
            where=str(path),
            fix="Start a new run in another folder.",
        ) from error


def _separate(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Contiguous CPU tensors without shared memory: tied weights are written twice and tied when loaded."""
    seen: set[int] = set()
    separate = {}
    for name, tensor in tensors.items():
        value = tensor.detach().cpu().contiguous()
        shared = value.untyped_storage().data_ptr() in seen
        seen.add(value.untyped_storage().data_ptr())
        separate[name] = value.clone() if shared and value.numel() else value
    return separate


def prefixed(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{prefix}/{name}": tensor for name, tensor in tensors.items()}


def without_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    start = f"{prefix}/"
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def pack_optimizer(optimizer: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """An optimizer's state: tensors named PARAMETER/KEY, and plain numbers with names in the same form."""
    tensors: dict[str, Tensor] = {}
    values: dict[str, Any] = {}
    for index, entries in optimizer.state_dict()["state"].items():
        for key, value in entries.items():
            if isinstance(value, Tensor):
                tensors[f"{index}/{key}"] = value
            else:
                values[f"{index}/{key}"] = value
    return tensors, values


def unpack_optimizer(optimizer: Optimizer, tensors: Mapping[str, Tensor], values: Mapping[str, Any]) -> None:
    """Restore the state. The parameter groups and their options stay as they are."""
    state: dict[int, dict[str, Any]] = {}
    for name, value in [*tensors.items(), *values.items()]:
        index, _, key = name.partition("/")
        state.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


@torch.no_grad()
def copy_into(target: Mapping[str, Tensor], source: Mapping[str, Tensor]) -> None:
    """Overwrite the tensors of `target` in place, keeping device and ties."""
    for name, tensor in target.items():
        tensor.copy_(source[name])


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

    fixed   names of weights that never change, which the files leave out
    """

    def __init__(self, run: Path, *, count: int, higher_is_better: bool, fixed: Collection[str] = ()) -> None:
        self.folder, self.count, self.higher = run / FOLDER, max(count, 1), higher_is_better
        self.fixed = fixed
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
            values = {"step": kept.step, "metrics": kept.metrics}
            write(self._file(kept.step), self._changing(network), values)

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
            copy_into(self._changing(network), read(self._file(self.best.step))[0])

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
        copy_into(self._changing(network), mean)

    def _changing(self, network: nn.Module) -> dict[str, Tensor]:
        return {name: one for name, one in network.state_dict().items() if name not in self.fixed}

    def move(self, run: Path) -> None:
        self.folder = run / FOLDER

    def _file(self, step: int) -> Path:
        return self.folder / f"step-{step:08d}.safetensors"

    def state(self) -> list[dict[str, Any]]:
        return [{"step": kept.step, "metrics": kept.metrics, "value": kept.value} for kept in self.kept]

    def restore(self, state: list[dict[str, Any]]) -> None:
        self.kept = [Snapshot(**entry) for entry in state]


class FixedWeights:
    """Weights that no update changes, such as those of a frozen pretrained encoder, and their file in the folder of a
    run. They are written before the first checkpoint, which needs them, and never again; each checkpoint holds only the
    others."""

    def __init__(self, network: nn.Module, run: Path) -> None:
        held = network.state_dict().keys()
        found = {
            name: one
            for name, one in network.named_parameters()
            if not one.requires_grad and name in held  # the first name of tied weights
        }
        size = sum(one.numel() * one.element_size() for one in found.values())
        self.tensors: dict[str, Tensor] = dict(found) if size >= LEAST_BYTES else {}
        self.written = False
        self.move(run)

    def move(self, run: Path) -> None:
        """Continue in another folder, to which the file has been moved."""
        self.path = run / FIXED_FILE

    def others(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors without the fixed ones."""
        return {name: tensor for name, tensor in tensors.items() if name not in self.tensors}

    def write(self) -> None:
        """Write the file, if it is not written yet."""
        if self.tensors and not self.written:
            write(self.path, self.tensors, {})
            self.written = True

    def joined(self, others: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The weights of a checkpoint together with the fixed ones, which older checkpoints hold themselves."""
        if not set(self.tensors) - set(others):
            return dict(others)
        if not self.path.is_file():
            raise RegardError(
                "the weights that are not trained are missing.",
                where=str(self.path),
                fix="Copy the run again with all its files, or start a new one in another folder.",
            )
        found, _ = read(self.path)
        self.written = True
        return {**found, **others}
