"""Initial weights: weights of another model that match by name and shape, or weights given in the spec."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from regard.errors import RegardError
from regard.parts import nearest
from regard.storage.files import read_json
from regard.storage.tensors import first_not_finite
from regard.training.checkpoint import copy_into, read

MODEL = "model.safetensors"


Names = Sequence[Hashable]


@dataclass(frozen=True)
class MatchedRows:
    """Weights whose rows are copied by name, because each row belongs to a word, a character or a class.

    names     {weight: {axis: (names of its rows, names of the rows of the source)}}
    unknown   weights with such rows, but in an unknown arrangement: they are not copied
    """

    names: Mapping[str, Mapping[int, tuple[Names, Names]]] = field(default_factory=dict)
    unknown: Collection[str] = ()


@dataclass(frozen=True)
class Transfer:
    """Names of weights.

    taken      found in the source with the right shape
    absent     in the model, not in the source
    reshaped   in both, with different shapes
    left       in the source, not in the model
    unknown    in both, but rows and units cannot be matched
    """

    taken: tuple[str, ...]
    absent: tuple[str, ...]
    reshaped: tuple[str, ...]
    left: tuple[str, ...]
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        missing = len(self.absent) + len(self.reshaped) + len(self.unknown)
        lines = [f"{len(self.taken)} of {len(self.taken) + missing} weights loaded"]
        for title, names in (
            ("not in the source", self.absent),
            ("of another shape", self.reshaped),
            ("not loaded, because their rows cannot be matched with units", self.unknown),
            ("not used", self.left),
        ):
            if names:
                lines.append(f"  {title}: {', '.join(names)}")
        return "\n".join(lines)


def start_from(
    network: nn.Module,
    path: Path | str,
    matched: MatchedRows = MatchedRows(),
) -> Transfer:
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
    target = _once(network)
    present = [name for name in target if name in source and name not in matched.unknown]
    taken = [name for name in present if _fits(name, source[name], target[name], matched)]
    if not taken:
        raise RegardError(
            f"none of its {len(source)} weights matches this model in name and shape.",
            where=str(file),
            fix="Use the same encoder and decoder as that model, or remove training.start_from.",
        )
    for name in taken:
        _copy_rows(target[name], source[name], matched.names.get(name, {}))
    every = network.state_dict()
    return Transfer(
        taken=tuple(taken),
        absent=tuple(name for name in target if name not in source),
        reshaped=tuple(name for name in present if name not in taken),
        left=tuple(name for name in source if name not in every),
        unknown=tuple(name for name in target if name in source and name in matched.unknown),
    )


def _once(network: nn.Module) -> dict[str, Tensor]:
    """The weights by name; tied ones once, under their first name, as in the file of a model."""
    seen: dict[int, str] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        seen.setdefault(id(tensor), name)
    kept = set(seen.values())
    return {name: tensor for name, tensor in network.state_dict().items() if name in kept}


def _fits(name: str, source: Tensor, target: Tensor, matched: MatchedRows) -> bool:
    axes = matched.names.get(name, {})
    wanted = [len(axes[axis][1]) if axis in axes else size for axis, size in enumerate(target.shape)]
    return list(source.shape) == wanted


def _copy_rows(target: Tensor, source: Tensor, axes: Mapping[int, tuple[Names, Names]]) -> None:
    """Copy in place; along these axes, by the names of the rows. Rows that the source lacks stay as they are."""
    if not axes:
        target.copy_(source)
        return
    (axis, (mine, theirs)), *rest = axes.items()
    numbers = {name: number for number, name in enumerate(theirs)}
    pairs = [(number, numbers[name]) for number, name in enumerate(mine) if name in numbers]
    here, there = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).unbind(1)
    rows = target.index_select(axis, here.to(target.device))
    _copy_rows(rows, source.index_select(axis, there), dict(rest))
    target.index_copy_(axis, here.to(target.device), rows)


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
