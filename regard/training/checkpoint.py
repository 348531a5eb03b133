"""Training state in one file: tensors as safetensors, everything else as JSON in its header. Nothing is pickled.

A single file is replaced by one rename: whenever the process dies, the file on disk is a complete checkpoint,
the old one or the new one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from regard.errors import RegardError
from regard.storage.manifest import STATE_FILE
from regard.storage.tensors import VALUES, read_tensors, write_tensors

STATE = STATE_FILE
"""The file of the training state, in the folder of a run."""


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
