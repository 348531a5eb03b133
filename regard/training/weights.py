"""Initial weights: weights of another model that match by name and shape, or weights given in the spec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import read_json
from regard.parts import nearest
from regard.tensors import first_not_finite
from regard.training.checkpoint import copy_into, read

MODEL = "model.safetensors"


@dataclass(frozen=True)
class Transfer:
    """Names of weights.

    taken      found in the source with the right shape
    absent     in the model, not in the source
    reshaped   in both, with different shapes
    left       in the source, not in the model
    """

    taken: tuple[str, ...]
    absent: tuple[str, ...]
    reshaped: tuple[str, ...]
    left: tuple[str, ...]

    def __str__(self) -> str:
        lines = [
            f"{len(self.taken)} of {len(self.taken) + len(self.absent) + len(self.reshaped)} weights loaded"
        ]
        for title, names in (
            ("not in the source", self.absent),
            ("of another shape", self.reshaped),
            ("not used", self.left),
        ):
            if names:
                lines.append(f"  {title}: {', '.join(names)}")
        return "\n".join(lines)


def start_from(network: nn.Module, path: Path | str) -> Transfer:
    """Copy into `network` every matching weight of the model folder (or safetensors file)."""
    path = Path(path)
    file = path / MODEL if path.is_dir() else path
    if not file.exists():
        raise RegardError(
            f"no {MODEL} to start from.",
            where=str(path),
            fix="Give the folder of a finished model in training.start_from.",
        )
    source, _ = read(file, own=path.is_dir())
    bad = first_not_finite(source.items())
    if bad is not None:
        raise RegardError(
            f"the weights {bad} are not finite numbers (NaN or infinite).",
            where=str(file),
            fix="Start from another model, or remove training.start_from.",
        )
    target = network.state_dict()
    present = [name for name in target if name in source]
    taken = [name for name in present if source[name].shape == target[name].shape]
    if not taken:
        raise RegardError(
            f"none of its {len(source)} weights matches this model in name and shape.",
            where=str(file),
            fix="Use the same encoder and decoder as that model, or remove training.start_from.",
        )
    copy_into({name: target[name] for name in taken}, source)
    return Transfer(
        taken=tuple(taken),
        absent=tuple(name for name in target if name not in source),
        reshaped=tuple(name for name in present if name not in taken),
        left=tuple(name for name in source if name not in target),
    )


def set_weights(network: nn.Module, weights: str | Mapping[str, Any]) -> list[str]:
    """Copy given weights into `network`, and return their names.

    weights   a file (JSON: name → numbers, or safetensors), or the mapping itself; each name must be known
              and each shape must match; other weights stay as they are
    """
    where = weights if isinstance(weights, str) else "training.weights"
    source = _read(weights) if isinstance(weights, str) else weights
    target, found = network.state_dict(), dict[str, Tensor]()
    for name, numbers in source.items():
        if name not in target:
            raise RegardError(
                f"{name!r} is not a weight of this model.",
                where=where,
                fix=f"{nearest(name, list(target))} The weights are: {', '.join(target)}.".strip(),
            )
        found[name] = _tensor(name, numbers, target[name].shape, where)
    bad = first_not_finite(found.items())
    if bad is not None:
        raise RegardError(f"the weights {bad} are not finite numbers (NaN or infinite).", where=where)
    copy_into({name: target[name] for name in found}, found)
    return list(found)


def _read(path: str) -> Mapping[str, Any]:
    file = Path(path)
    if not file.is_file():
        raise RegardError("there is no such file.", where=path, fix="Correct training.weights.")
    if file.suffix == ".safetensors":
        return read(file, own=False)[0]
    found = read_json(file)
    if not isinstance(found, dict):
        raise RegardError("expected a mapping: the name of each weight and its numbers.", where=path)
    return found


def _tensor(name: str, numbers: Any, shape: torch.Size, where: str) -> Tensor:
    try:
        made = numbers if isinstance(numbers, Tensor) else torch.tensor(numbers, dtype=torch.float64)
    except (TypeError, ValueError):
        raise RegardError(
            f"{name}: expected numbers of shape {tuple(shape)}, in lists of equal length.", where=where
        ) from None
    if made.shape != shape:
        raise RegardError(
            f"{name} has shape {tuple(made.shape)}, expected {tuple(shape)}.",
            where=where,
            fix="Give numbers of this shape, as nested lists.",
        )
    return made
