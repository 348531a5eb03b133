"""The folder of a sweep: sweep.json says what it is; best.yaml and sweep.html are written at the end.

A file that regard did not write, or that was changed since, is never replaced.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from regard.errors import RegardError
from regard.storage.files import naming, read_json, write_text
from regard.sweep.plan import SweepPlan
from regard.sweep.result import SweepResult
from regard.version import __version__

SIGN, BEST, PAGE = "sweep.json", "best.yaml", "sweep.html"
MOST_NAMED = 3


def open_folder(plan: SweepPlan) -> None:
    """Make the folder of a sweep, or find it again; refuses one with other things in it."""
    folder = plan.output
    if folder.exists() and not folder.is_dir():
        raise RegardError(
            "this is a file, expected a folder for the sweep.",
            where=str(folder),
            fix="Choose another one with -o.",
        )
    if not (folder / SIGN).is_file():
        inside = sorted(one.name for one in folder.iterdir()) if folder.is_dir() else []
        others = [name for name in inside if not name.startswith(".")]
        if others:
            shown = ", ".join([*others[:MOST_NAMED], *(["…"] if len(others) > MOST_NAMED else [])])
            raise RegardError(
                f"this folder contains other files and no sweep: {shown}.",
                where=str(folder),
                fix=f"Choose a new or empty one with -o: {folder / 'sweep'}",
            )
        with naming(folder):
            folder.mkdir(parents=True, exist_ok=True)
        _write_sign(folder, {})
    _read_sign(folder)


def write_best(plan: SweepPlan, found: SweepResult) -> None:
    """Write the spec of the winner."""
    assert found.best is not None
    spec = plan.spec(found.best.values, plan.seeds[0])
    found.best_spec = write_owned(plan.output, BEST, spec.to_yaml())


def write_owned(folder: Path, name: str, text: str) -> Path:
    """Write a file of the sweep; one that somebody changed is kept, and the new one goes beside it."""
    written = _read_sign(folder)
    path = folder / name
    number = 1
    while path.exists() and _digest(path.read_bytes()) not in (
        written.get(path.name),
        _digest(text.encode()),
    ):
        number += 1
        path = folder / f"{Path(name).stem}-{number}{Path(name).suffix}"
    if not path.exists() or _digest(path.read_bytes()) != _digest(text.encode()):
        _write_sign(folder, {**written, path.name: _digest(text.encode())})
        write_text(path, text)
    return path


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write_sign(folder: Path, written: dict[str, str]) -> None:
    content = {"regard": __version__, "written": written}
    write_text(folder / SIGN, json.dumps(content, indent=1) + "\n")


def _read_sign(folder: Path) -> dict[str, str]:
    try:
        content: Any = read_json(folder / SIGN)
        return {str(name): str(digest) for name, digest in content["written"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise RegardError(
            "this file exists and regard did not write it.",
            where=str(folder / SIGN),
            fix="Choose another folder with -o.",
        ) from None
