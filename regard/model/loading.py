"""Reading the folder of a finished model (`regard.model.saving`); a damaged file is refused with its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import nn

from regard.data.columns import Column, column_from_state
from regard.errors import OPEN, Message, RegardError, Setting, ShellCommand
from regard.model.budget import UnfitWeights
from regard.model.saving import COLUMNS, FORMAT, METRICS, SPEC, WEIGHTS, file_digests, refuse_not_finite
from regard.spec import Spec
from regard.spec.document import Change, settings
from regard.spec.spec import load_spec, nearest_run
from regard.storage.files import read_json, reading_remedy
from regard.storage.manifest import is_interrupted
from regard.storage.tensors import read_header, read_tensors
from regard.zoo import names

DAMAGE = (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RuntimeError, OverflowError)
"""Exceptions that the reader of a damaged file may raise."""
WRITTEN_FORMAT = re.compile(rb'\s*\{\s*"format":\s*(\d+)')
COLUMN_SECTIONS, BUILT = ("inputs", "outputs"), ("encoder", "attention", "decoder")
"""Sections of a spec that describe columns, and those from which the network is built."""
AS_TRAINED = "Leave it out, or train a model with it."
UPGRADES: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""For each earlier format: from the content of columns.json to that of the next format. Options of parts have an
upgrade of their own (`Options.upgrade`). No published version has had another format than 1."""


def check_digests(folder: Path) -> None:
    """Refuse a spec or columns other than those with which the weights were saved. Weights of an earlier
    version have no digests and are read without this check."""
    said = read_header(folder / WEIGHTS, "the weights").metadata
    found = file_digests(folder)
    for name, file, fix in (
        (
            "spec",
            SPEC,
            Message(
                "Restore the file. To change the search, use ",
                Setting("search", OPEN),
                "; to change the model, train it again.",
            ),
        ),
        ("columns", COLUMNS, "Copy the folder again from an intact copy."),
    ):
        if name in said and said[name] != found[name]:
            raise RegardError(
                "this file was damaged or changed after the weights were saved.",
                where=str(folder / file),
                fix=fix,
            )


def weight_shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights, from the header of their file."""
    return read_header(folder / WEIGHTS, "the weights").shapes


def read_weights(path: Path, network: nn.Module) -> None:
    tensors, _ = read_tensors(path, "the weights")
    first_name = _check_fit(path, network, {name: tuple(tensor.shape) for name, tensor in tensors.items()})
    refuse_not_finite(path, tensors, "Copy the folder again, or train the model again.")
    network.load_state_dict({name: tensors[owner] for name, owner in first_name.items()})


def _check_fit(path: Path, network: nn.Module, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, str]:
    """{name in the network: name of its tensor in the file}; raises an error if names or shapes differ."""
    known = network.state_dict(keep_vars=True)
    first_name: dict[int, str] = {}
    for name, tensor in known.items():
        first_name.setdefault(id(tensor), name)
    owners = {name: first_name[id(tensor)] for name, tensor in known.items()}
    wrong = [name for name, owner in owners.items() if shapes.get(owner) != tuple(known[name].shape)]
    unknown = [name for name in shapes if name not in known]
    if wrong or unknown:
        raise UnfitWeights(f"different names or shapes of {', '.join([*wrong, *unknown][:3])}", path)
    return owners


@contextmanager
def naming_changes(overrides: Sequence[Change]) -> Iterator[None]:
    """If the weights do not fit a spec with other settings, name the setting that was changed."""
    try:
        yield
    except UnfitWeights as error:
        built = [one for one in settings(overrides) if one.steps[0] in BUILT]
        if not built:
            raise
        raise RegardError(
            "the trained weights do not fit this setting.", where=built[0], fix=AS_TRAINED
        ) from error


def _refuse_other_columns(spec: Spec, folder: Path, overrides: Sequence[Change]) -> None:
    """Refuse changes of columns, which are those that were fitted."""
    changes = [one for one in settings(overrides) if one.steps[0] in COLUMN_SECTIONS]
    before = load_spec(folder, to_answer=True) if changes else spec
    for one in changes:
        section = one.steps[0]
        if getattr(spec, section) != getattr(before, section):
            raise RegardError(
                "this setting has no effect: the columns of a trained model are those that were fitted.",
                where=one,
                fix=AS_TRAINED,
            )


def read_columns(path: Path) -> dict[str, Column]:
    try:
        content = upgraded(read_json(path), path)
        return {name: column_from_state(state) for name, state in content["columns"].items()}
    except RegardError:
        raise
    except DAMAGE as error:
        raise RegardError(
            f"the columns cannot be read: {type(error).__name__} {error}.",
            where=str(path),
            fix=reading_remedy(error, path, "Copy the folder again."),
        ) from None


def upgraded(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """The content of columns.json in today's format; a newer format, or one without an upgrade, is refused."""
    while content["format"] != FORMAT:
        found = content["format"]
        if found not in UPGRADES:
            raise _other_format(found, path)
        content = {**UPGRADES[found](content), "format": found + 1}
    return content


def _refuse_newer(folder: Path) -> None:
    """Refuse a folder of a newer format before its spec is read, which may have keys that are unknown here. Only the
    beginning of columns.json is read."""
    try:
        with (folder / COLUMNS).open("rb") as file:
            found = WRITTEN_FORMAT.match(file.read(64))
    except OSError:
        return  # reading the columns reports it
    if found and int(found[1]) > FORMAT:
        raise _other_format(int(found[1]), folder / COLUMNS)


def _other_format(found: Any, path: Path) -> RegardError:
    newer = isinstance(found, int) and found > FORMAT
    remedy = "Run: pip install -U regard" if newer else "Use the version of regard that card.md names."
    return RegardError(
        f"this model has format {found}; this version of regard reads formats up to {FORMAT}.",
        where=str(path),
        fix=remedy,
    )


def _how_to_make(folder: Path) -> str:
    """A remedy for a folder that does not exist: the training that would create it."""
    if folder.name in names() and folder.parent == Path("runs"):
        return f"`regard train {folder.name}` makes it."
    near = nearest_run(folder)
    if near is not None:
        return f"Did you mean {near}?"
    return "Name the folder of a trained model; `regard train NAME` makes one."


def read_spec(folder: Path, overrides: Sequence[Change] = ()) -> Spec:
    """The spec in a model's folder; raises an error that names missing files."""
    if folder.is_file():
        raise RegardError(
            "this is a file, expected the folder of a trained model.",
            where=str(folder),
            fix=Message(
                "Name a run, and then the file: `",
                ShellCommand(
                    "evaluate", ("RUN",), {"data": folder}, python=f"model.evaluate(data={str(folder)!r})"
                ),
                "` or `",
                ShellCommand("predict", ("RUN",), {"file": folder}),
                "`.",
            ),
        )
    if not folder.is_dir():
        raise RegardError("no such folder.", where=str(folder), fix=_how_to_make(folder))
    if is_interrupted(folder):
        raise RegardError(
            "the process that was replacing this model by a new one was killed.",
            where=str(folder),
            fix=Message("Complete the new model: ", ShellCommand("train", options={"resume": folder})),
        )
    missing = [name for name in (SPEC, COLUMNS, WEIGHTS) if not (folder / name).is_file()]
    if missing:
        raise RegardError(
            f"this folder holds no finished model: {', '.join(missing)} is missing.",
            where=str(folder),
            fix=Message(
                "If its training was interrupted: ", ShellCommand("train", options={"resume": folder})
            ),
        )
    _refuse_newer(folder)
    spec = load_spec(folder, overrides, to_answer=True)
    _refuse_other_columns(spec, folder, overrides)
    return spec


def read_metrics(folder: Path) -> dict[str, Any]:
    path = folder / METRICS
    if not path.is_file():
        return {}
    try:
        content = read_json(path)
        if not isinstance(content, dict):
            raise ValueError("expected a mapping")
    except (OSError, ValueError) as error:
        raise RegardError(
            f"the scores cannot be read: {error}.",
            where=str(path),
            fix="Copy the file again, or delete it: the model works without it.",
        ) from None
    return content
