"""Folders of finished models, checked and named for a page or a server."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from regard.errors import RegardError


def finished_runs(folders: Sequence[str | PathLike[str]]) -> dict[str, Path]:
    """A short name for each of some folders with finished models."""
    return _named([_checked(one) for one in folders])


def _checked(folder: str | PathLike[str]) -> Path:
    """The folder of a finished model. Reading its spec here reports a mistake before a page opens."""
    from regard.storage.hub import fetched

    found = fetched(str(folder))
    for name in ("spec.yaml", "columns.json", "model.safetensors"):
        if not (found / name).is_file():
            from regard.model.loading import read_spec

            read_spec(found)  # raises an error that says what is wrong
            raise RegardError(f"{name} is missing.", where=str(found))
    return found


def _named(folders: Sequence[Path]) -> dict[str, Path]:
    """A name for each folder: its last part, with those before it if two are equal; else a number."""
    found: dict[str, Path] = {}
    for folder in folders:
        parts = folder.resolve().parts
        name, used = parts[-1], 1
        while name in found and used < min(len(parts), 4):
            used += 1
            name = "/".join(parts[-used:])
        number = 2
        while name in found:
            name, number = f"{parts[-1]} ({number})", number + 1
        found[name] = folder
    return found
