"""The exercises by name, and their templates as files."""

from __future__ import annotations

import difflib
from functools import cache
from importlib import import_module
from pathlib import Path

from regard.course.exercises.exercise import Exercise
from regard.errors import RegardError
from regard.storage.files import write_text

NAMES = ("summing", "carousel", "condition", "attention", "mistakes")
"""In order of difficulty; each is a module of this folder."""


def names() -> list[str]:
    """The exercises, the easiest first."""
    return list(NAMES)


@cache
def exercise(name: str) -> Exercise:
    """The exercise of that name."""
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known: {', '.join(NAMES)}."
        raise RegardError(f"there is no exercise {name!r}.", where="regard exercise", fix=hint)
    found: Exercise = import_module(f"regard.course.exercises.{name}").EXERCISE
    return found


def write_template(name: str, path: Path) -> None:
    """Write the template of an exercise to a new file; an existing file is never overwritten."""
    found = exercise(name)
    if path.is_dir():
        raise RegardError(
            "this is a folder, expected a file to write.",
            where=str(path),
            fix=f"Name a file inside it: regard exercise {name} -o {path / name}.py",
        )
    if path.exists() or path.is_symlink():
        raise RegardError(
            "this file already exists and may contain your work.",
            where=str(path),
            fix=f"Choose another name with -o. To have it graded: regard exercise {name} {path}",
        )
    if path.suffix != ".py":
        raise RegardError(
            f"an answer is a file of Python; received a name that ends in {path.suffix or 'nothing'}.",
            where=str(path),
            fix=f"regard exercise {name} -o {path.with_suffix('.py')}",
        )
    if not path.parent.is_dir():
        raise RegardError(
            "the folder to write to does not exist.", where=str(path.parent), fix="Make it first."
        )
    write_text(path, found.template)
