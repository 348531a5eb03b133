"""The two columns of a file of pairs: which are the source and the target, and their first rows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import islice
from typing import Any

from regard.data import Row, read_rows
from regard.data.readers import FileRows
from regard.data.readers.reader import Field
from regard.data.readers.table import TableReader
from regard.errors import RegardError

SAMPLE = 5000
"""Number of rows that are read to infer the settings."""
FEWEST = 10
"""Minimum number of complete rows of a file."""
SOURCE, TARGET = "source", "target"
IDENTIFIERS = ("id", "idx", "index", "")
"""Names of columns that number the rows."""
TREEBANK = {SOURCE: "words", TARGET: "upos"}
"""The fields of a treebank that are the sides of a pair, if no others are named."""


def fields_of_sides(path: str, format: Any, source: str | None, target: str | None) -> dict[str, str]:
    """The field of each side."""
    wanted = {SOURCE: source, TARGET: target}
    opened = read_rows(path, fields=[SOURCE, TARGET], format=format)
    assert isinstance(opened, FileRows)
    if opened.reader.type == "conllu":
        return {side: name or TREEBANK[side] for side, name in wanted.items()}
    found = opened.found()
    chosen = _choice(path, found, wanted, table=isinstance(opened.reader, TableReader))
    for field in found:
        if field.listed and field.name in chosen.values():
            example = f", such as {field.example[:40]!r}" if field.example else ""
            raise RegardError(
                f"the column {field.name!r} contains lists, expected texts or numbers.",
                where=path,
                fix=f"Join each list into one text{example}. In a spec, an input of type document reads lists.",
            )
    return chosen


def _choice(
    path: str, found: Sequence[Field], wanted: dict[str, str | None], *, table: bool
) -> dict[str, str]:
    """The field of each side, among those of the file."""
    known = [field.name for field in found]
    numbered = known == [str(number) for number in range(1, len(known) + 1)]
    given = {side: _named(name, known, path) for side, name in wanted.items() if name is not None}
    if len(given) > len(set(given.values())):
        raise RegardError(f"source and target are the same column, {given[SOURCE]!r}.", where=path)
    if not known:
        return {side: given.get(side, side) for side in wanted}
    if given:
        rest = [name for name in known if name not in given.values()]
        missing = [side for side in wanted if side not in given]
        if len(missing) == 1 and len(rest) != 1 and missing[0] not in rest:
            raise _which(path, found, missing, numbered=numbered, table=table)
        return {side: given.get(side) or (side if side in rest else rest[0]) for side in wanted}
    if all(side in known for side in wanted) or (numbered and len(known) == 2):
        return {side: side for side in wanted}
    if len(known) == 2:
        return dict(zip(wanted, known, strict=True))
    raise _which(path, found, list(wanted), numbered=numbered, table=table)


def _named(name: str, known: Sequence[str], path: str) -> str:
    """The name of a column that is given by its name or number."""
    if not known:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return known[int(name) - 1]
    if name in known:
        return name
    raise RegardError(
        f"there is no column {name!r}.",
        where=path,
        fix=f"The columns are {', '.join(known)}; a number counts them from 1.",
    )


def _which(
    path: str, found: Sequence[Field], missing: Sequence[str], *, numbered: bool, table: bool
) -> RegardError:
    shown = [
        f"{field.name} ({' '.join(field.example.split())[:30]})"
        if numbered
        else f"{field.name}{' (lists)' * field.listed}"
        for field in found
    ]
    known = [field.name for field in found if not field.listed]
    count = f"{len(found)} column{'' if len(found) == 1 else 's'}"
    if len(found) < 2:
        return RegardError(
            f"the file has {count}, and a pair needs two: {', '.join(shown)}.",
            where=path,
            fix="Put a tab, comma, semicolon or pipe between source and target."
            if table
            else "Add a column with the other side of the pairs.",
        )
    likely = [name for name in known if name.lower() not in IDENTIFIERS] or known
    typed = " ".join(f"--{side} {shlex.quote(name)}" for side, name in zip(missing, likely, strict=False))
    return RegardError(
        f"the file has {count}; which are used? There are {', '.join(shown)}.",
        where=path,
        fix=f"For example  regard train {path} {typed}",
    )


def first_rows(path: str, format: Any, fields: dict[str, str]) -> tuple[list[Row], FileRows]:
    """The first rows with both sides, and their reader."""
    opened = read_rows(path, fields=list(fields.values()), format=format, bad_rows="skip")
    assert isinstance(opened, FileRows)
    rows = list(islice(opened, SAMPLE))
    whole = [row for row in rows if all(row.get(field, "").strip() for field in fields.values())]
    if len(whole) < FEWEST:
        lacking = next((field for field in fields.values() if rows and not any(_has(rows, field))), None)
        if lacking is not None:
            known = ", ".join(field.name for field in opened.found())
            raise RegardError(
                f"the field {lacking!r} is empty in every row.", where=path, fix=f"The fields are {known}."
            )
        for _ in read_rows(path, fields=list(fields.values()), format=format):
            pass  # raises an error for the first bad row, with its line and the reason
        raise RegardError(
            f"the file has {len(whole)} complete rows; `train FILE` needs at least {FEWEST}.",
            where=path,
            fix="Each line holds a source and a target, with a tab, comma, semicolon or pipe between them; "
            "`--source NAME --target NAME` choose among more columns.",
        )
    return whole, opened


def _has(rows: Sequence[Row], field: str) -> list[bool]:
    """Whether each row has a nonempty value in a field."""
    return [bool(row.get(field, "").strip()) for row in rows]
