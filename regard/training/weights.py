"""Start from another model's weights: what fits by name and shape is taken, the rest is reported by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import nn

from regard.errors import RegardError
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
            f"{len(self.taken)} of {len(self.taken) + len(self.absent) + len(self.reshaped)} weights taken"
        ]
        for title, names in (
            ("not in the source", self.absent),
            ("other shape", self.reshaped),
            ("left in the source", self.left),
        ):
            if names:
                lines.append(f"  {title}: {', '.join(names)}")
        return "\n".join(lines)


def start_from(network: nn.Module, path: Path | str) -> Transfer:
    """Copies into `network` every weight of the model folder (or safetensors file) that fits it."""
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
            f"none of its {len(source)} weights fits this model by name and shape.",
            where=str(file),
            fix="Make encoder and decoder the same as in that model, or remove training.start_from.",
        )
    copy_into({name: target[name] for name in taken}, source)
    return Transfer(
        taken=tuple(taken),
        absent=tuple(name for name in target if name not in source),
        reshaped=tuple(name for name in present if name not in taken),
        left=tuple(name for name in source if name not in target),
    )
