"""The fields a format has, whatever its files are called."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from regard.errors import RegardError


def refuse_strangers(what: str, known: Sequence[str], asked: Sequence[str], path: Path) -> None:
    """An error where a field is asked for that the format does not have; what: "a bAbI file"."""
    strangers = [field for field in asked if field not in known]
    if strangers:
        raise RegardError(
            f"{what} has the fields {', '.join(known)}, but no {strangers[0]}.",
            where=str(path),
            fix=f"Name the columns so, or give a column  field: {known[0]}.",
        )
