"""A finished model as a folder: weights, spec, columns, card, metrics. Nothing in it is pickled or run.

model.safetensors   the weights
spec.yaml           what the model is
columns.json        vocabularies and classes
metrics.json        what was measured, where, with which seed and versions
card.md             the same for people
parts.json          the parts that are not regard's own, and the package each came from
manifest.json       which of the files here are regard's
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from regard.data.columns import Column, column_from_state
from regard.errors import RegardError
from regard.files import write_tensors, write_text
from regard.manifest import MODEL_FILES, is_interrupted
from regard.spec import Spec
from regard.spec.saved import load_spec
from regard.version import __version__

SPEC, COLUMNS, WEIGHTS, METRICS, CARD, PARTS = MODEL_FILES
FORMAT = 1


def write_weights(path: Path, network: nn.Module) -> None:
    """Tied tensors are written once, under the first of their names."""
    tensors: dict[str, Tensor] = {}
    seen: set[int] = set()
    for name, tensor in network.state_dict(keep_vars=True).items():
        if id(tensor) not in seen:
            seen.add(id(tensor))
            tensors[name] = tensor.detach().to("cpu").contiguous()
    write_tensors(path, tensors, ("format", "pt"))


def read_weights(path: Path, network: nn.Module) -> None:
    try:
        tensors = load_file(path)
    except (SafetensorError, OSError) as error:
        raise RegardError(
            f"the weights cannot be read: {error}.", where=str(path), fix="Copy the folder again."
        ) from None
    known = network.state_dict(keep_vars=True)
    first_name: dict[int, str] = {}
    for name, tensor in known.items():
        first_name.setdefault(id(tensor), name)
    complete = {name: tensors.get(first_name[id(tensor)]) for name, tensor in known.items()}
    wrong = [name for name, tensor in complete.items() if tensor is None or tensor.shape != known[name].shape]
    unknown = [name for name in tensors if name not in known]
    if wrong or unknown:
        raise RegardError(
            f"weights and spec do not belong together: {', '.join([*wrong, *unknown][:3])} does not fit.",
            where=str(path),
            fix="spec.yaml, columns.json and model.safetensors must come from one run.",
        )
    network.load_state_dict({name: tensor for name, tensor in complete.items() if tensor is not None})


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    states = {name: column.state() for name, column in columns.items()}
    write_text(path, json.dumps({"format": FORMAT, "columns": states}, ensure_ascii=False, indent=1))


def read_columns(path: Path) -> dict[str, Column]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise RegardError(
                f"written in format {content['format']}, this version reads {FORMAT}.",
                where=str(path),
                fix="Use the version of regard that card.md names.",
            )
        return {name: column_from_state(state) for name, state in content["columns"].items()}
    except RegardError:
        raise
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RegardError(
            f"the columns cannot be read: {error}.", where=str(path), fix="Copy the folder again."
        ) from None


def read_spec(folder: Path, overrides: tuple[str, ...] = ()) -> Spec:
    """The spec in a model's folder, or a message about what is missing there."""
    if not folder.is_dir():
        raise RegardError(
            "no such folder.",
            where=str(folder),
            fix="Name the folder of a trained model; `regard train NAME` makes one.",
        )
    if is_interrupted(folder):
        raise RegardError(
            "this model was being replaced by a new one when the process was killed.",
            where=str(folder),
            fix=f"Complete the new one: regard train --resume {folder}",
        )
    missing = [name for name in (SPEC, COLUMNS, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise RegardError(
            f"this folder holds no finished model: {', '.join(missing)} is missing.",
            where=str(folder),
            fix=f"If its training was interrupted: regard train --resume {folder}",
        )
    return load_spec(folder, overrides)


def versions() -> dict[str, str]:
    """What numbers depend on besides the seed."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.machine()
    return {
        "regard": __version__,
        "torch": str(torch.__version__),
        "python": platform.python_version(),
        "device": device,
    }


def write_metrics(folder: Path, metrics: Mapping[str, Any]) -> None:
    write_text(folder / METRICS, json.dumps(metrics, ensure_ascii=False, indent=1) + "\n")


def read_metrics(folder: Path) -> dict[str, Any]:
    path = folder / METRICS
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content
