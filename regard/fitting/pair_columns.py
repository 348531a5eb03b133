"""The columns of a file of pairs: which are the source and the target, and their first rows."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from regard.data import Row, read_rows
from regard.data.readers import FileRows
from regard.data.readers.layout import RANGE
from regard.data.readers.reader import Field
from regard.errors import NAME, Message, Option, RegardError, ShellCommand, Together
from regard.fitting.pair_suggestions import suggested, wide_sides

SAMPLE = 5000
"""Number of rows that are read to infer the settings."""
FEWEST = 10
"""Minimum number of complete rows of a file."""
SOURCE, TARGET = "source", "target"
Sources = str | Sequence[str] | None
"""The columns of inputs that a user names: one, several, or none."""


class Chosen(NamedTuple):
    """The fields of the inputs and of the output by column name, the types that the format or the field determines, and
    additional columns of truth."""

    inputs: dict[str, str]
    target: str
    columns: Mapping[str, Mapping[str, Any]]
    truth: Mapping[str, Mapping[str, Any]]
    numbers: frozenset[str] = frozenset()
    """Fields that hold lists of numbers."""

    @property
    def fields(self) -> list[str]:
        return [*self.inputs.values(), self.target]


def choose_columns(path: str, format: Any, source: Sources, target: str | None) -> Chosen:
    """The fields of the sides: those that the user names, or that the format or the file determines."""
    opened = read_rows(path, fields=[SOURCE, TARGET], format=format)
    assert isinstance(opened, FileRows)
    sides, found = opened.reader.sides(opened.files), opened.found()
    given = [source] if isinstance(source, str) else list(source or ())
    if sides is not None:
        known = [field.name for field in found]
        fields = [_named(name, known, path) for name in given] or [sides.source]
        field = sides.target if target is None else _named(target, known, path)
        _refuse_twice([*fields, field], path)
        return Chosen(_input_names(fields), field, sides.columns, sides.truth)
    fields, field = _choice(path, format, found, given, target, table=opened.reader.delimited)
    for one in found:
        if one.listed and one.name in (*fields, field):
            raise _lists(one, path, of_targets=one.name == field)
    numbers = frozenset(one.name for one in found if one.numbers)
    series = {
        name: {"type": "series"} for name in fields if RANGE in name and name not in {f.name for f in found}
    }
    return Chosen(_input_names(fields), field, series, {}, numbers)


def _input_names(fields: Sequence[str]) -> dict[str, str]:
    """The name of each input: `source` if there is one, else made of its field."""
    if len(fields) == 1:
        return {SOURCE: fields[0]}
    made: dict[str, str] = {}
    for number, field in enumerate(fields, 1):
        name = "_".join("".join(sign if sign.isalnum() else " " for sign in field).split())
        name = name if name and not name[0].isdecimal() else f"{SOURCE}{number}"
        made[name if name not in made and name != TARGET else f"{SOURCE}{number}"] = field
    return made


def _lists(field: Field, path: str, *, of_targets: bool) -> RegardError:
    example = f", such as {field.example[:40]!r}" if field.example else ""
    several = " There is no decoder for several labels of a row yet." if of_targets else ""
    return RegardError(
        f"the column {field.name!r} contains lists, expected texts or numbers.",
        where=path,
        fix=f"Join each list into one text{example}.{several or ' In a spec, an input of type document reads lists.'}",
    )


def _choice(
    path: str, format: Any, found: Sequence[Field], sources: Sequence[str], target: str | None, *, table: bool
) -> tuple[list[str], str]:
    """The fields of the sources and of the target, among those of the file."""
    known = [field.name for field in found]
    numbered = known == [str(number) for number in range(1, len(known) + 1)]
    fields = [_named(name, known, path) for name in sources]
    field = None if target is None else _named(target, known, path)
    _refuse_twice([*fields, *([] if field is None else [field])], path)
    if not known:
        return fields or [SOURCE], field or TARGET
    missing = [side for side, given in ((SOURCE, fields), (TARGET, field)) if not given]
    rest = [name for name in known if name not in fields and name != field]
    if not missing:
        assert field is not None
        return fields, field
    if len(missing) == 1:
        if missing[0] not in rest and len(rest) != 1:
            raise _which(path, format, found, missing, numbered=numbered, table=table)
        other = missing[0] if missing[0] in rest else rest[0]
        return (fields, other) if field is None else ([other], field)
    if all(side in known for side in (SOURCE, TARGET)) or (numbered and len(known) == 2):
        return [SOURCE], TARGET
    if len(known) == 2:
        return [known[0]], known[1]
    wide = wide_sides(found) if table else None
    if wide is not None:
        return [wide[0]], wide[1]
    raise _which(path, format, found, [SOURCE, TARGET], numbered=numbered, table=table)


def _refuse_twice(fields: Sequence[str], path: str) -> None:
    twice = next((field for field in fields if fields.count(field) > 1), None)
    if twice is not None:
        sides = "source and target are" if len(fields) == 2 else "two of the named columns are"
        raise RegardError(f"{sides} the same column, {twice!r}.", where=path)


def _named(name: str, known: Sequence[str], path: str) -> str:
    """The name of a column that is given by its name or number; FIRST..LAST names a range of columns."""
    if not known or name in known:
        return name
    if name.isdecimal() and 1 <= int(name) <= len(known):
        return known[int(name) - 1]
    first, dots, last = name.partition(RANGE)
    if dots and first and last:
        return RANGE.join((_named(first, known, path), _named(last, known, path)))
    raise RegardError(
        f"there is no column {name!r}.",
        where=path,
        fix=f"The columns are {', '.join(known)}; a number counts them from 1.",
    )


def _which(
    path: str, format: Any, found: Sequence[Field], missing: Sequence[str], *, numbered: bool, table: bool
) -> RegardError:
    shown = [
        f"{field.name} ({' '.join(field.example.split())[:30]})"
        if numbered
        else f"{field.name}{' (lists)' * field.listed}"
        for field in found
    ]
    count = f"{len(found)} column{'' if len(found) == 1 else 's'}"
    if len(found) < 2:
        return RegardError(
            f"the file has {count}, and a pair needs two: {', '.join(shown)}.",
            where=path,
            fix="Put a tab, comma, semicolon or pipe between source and target."
            if table
            else "Add a column with the other side of the pairs.",
        )
    likely = suggested(path, format, found, missing)
    named = {side: likely.get(side, NAME) for side in missing}
    sides = Together(*(Option(side, name) for side, name in named.items()))
    train = ShellCommand(
        "train",
        (path,),
        {side: shlex.quote(name) for side, name in named.items()},
        python=f"regard.fit({path!r}, {sides})",
    )
    return RegardError(
        f"the file has {count}; which are used? There are {', '.join(shown)}.",
        where=path,
        fix=Message("For example  " if len(likely) == len(missing) else "Choose:  ", train),
    )


def first_rows(path: str, format: Any, fields: Sequence[str]) -> tuple[list[Row], FileRows]:
    """The first rows with both sides, and their reader."""
    opened = read_rows(path, fields=list(fields), format=format, bad_rows="skip")
    assert isinstance(opened, FileRows)
    rows = list(islice(opened, SAMPLE))
    whole = [row for row in rows if all(row.get(field, "").strip() for field in fields)]
    if len(whole) < FEWEST:
        lacking = next((field for field in fields if rows and not any(_has(rows, field))), None)
        if lacking is not None:
            known = ", ".join(field.name for field in opened.found())
            raise RegardError(
                f"the field {lacking!r} is empty in every row.", where=path, fix=f"The fields are {known}."
            )
        for _ in read_rows(path, fields=list(fields), format=format):
            pass  # raises an error for the first bad row, with its line and the reason
        raise RegardError(
            f"the file has {len(whole)} complete rows; `train FILE` needs at least {FEWEST}.",
            where=path,
            fix=Message(
                "Each line holds a source and a target, with a tab, comma, semicolon or pipe between them; `",
                Together(Option(SOURCE, NAME), Option(TARGET, NAME)),
                "` choose among more columns.",
            ),
        )
    return whole, opened


def _has(rows: Sequence[Row], field: str) -> list[bool]:
    """Whether each row has a nonempty value in a field."""
    return [bool(row.get(field, "").strip()) for row in rows]
