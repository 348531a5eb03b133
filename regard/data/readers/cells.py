"""Cells of a table and their fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from regard.data.readers.layout import Record
from regard.data.readers.ranges import ends, ends_of
from regard.data.readers.row import Row
from regard.errors import NAME, Message, RegardError, ShellCommand

SHOWN = 30
CHOOSING = ShellCommand(
    "train",
    ("FILE",),
    {"source": NAME, "target": NAME},
    python="regard.fit(FILE, source=NAME, target=NAME)",
)
IN_A_SPEC = "in a spec, set `field` of each column, or list all columns in data.fields."


@dataclass(frozen=True)
class Cells:
    """The assignment of cells to fields.

    fields, places   each field and the index of its cell, from 0; the first and last index for a range of cells
    width            number of cells of a row
    names            names of all cells: from the header, else the fields, else numbers from 1
    header           whether the first row is a header
    named            whether the fields were found by name or number
    """

    fields: tuple[str, ...]
    places: tuple[int | tuple[int, int], ...]
    width: int
    names: tuple[str, ...]
    header: bool
    named: bool

    def row(self, record: Record, file: str, separated: str) -> Row:
        count = len(record.cells)
        problem = record.problem
        if problem is None and count != self.width:
            counted = f"{count} {separated}-separated cell{'' if count == 1 else 's'}"
            problem = f"has {counted}, expected {self.width} ({', '.join(self.names)})"
        if problem is not None:
            return Row(file=file, line=record.number, problem=problem, source=record.text)
        values = {}
        for field, place in zip(self.fields, self.places, strict=True):
            if isinstance(place, int):
                values[field] = record.cells[place]
                continue
            cells = record.cells[place[0] : place[1] + 1]
            empty = next((at for at, cell in enumerate(cells, place[0]) if not cell.strip()), None)
            if empty is not None:
                problem = f"has an empty cell {self.names[empty]} within {field}"
                return Row(file=file, line=record.number, problem=problem, source=record.text)
            values[field] = " ".join(cell.strip() for cell in cells)
        return Row(values, file=file, line=record.number)


def assign(
    first: Sequence[str],
    fields: Sequence[str],
    *,
    width: int,
    header: bool,
    where: str,
    order: Sequence[str] = (),
) -> Cells:
    """Assign fields to cells: by the names in the first row, by numbers from 1, or else in order.

    header   whether the first row looks like a header, even if it does not name the fields
    order    names of all cells, for a table without a header that has more cells than fields
    """
    names = tuple(cell.strip() for cell in first)
    if any(ends(field, names) for field in fields):
        return _with_ranges(first, fields, width=width, header=header, where=where)
    # A decimal field is a column number, even if a cell of the first row equals it.
    lacking = [field for field in fields if field.isdecimal() or field not in names]
    if not lacking:
        places = tuple(names.index(field) for field in fields)
        return Cells(tuple(fields), places, len(names), names, header=True, named=True)
    shown = names if header else tuple(map(str, range(1, width + 1)))
    if all(field.isdecimal() and 1 <= int(field) <= width for field in lacking):
        places = tuple(int(field) - 1 if field in lacking else names.index(field) for field in fields)
        return Cells(tuple(fields), places, width, shown, header, named=True)
    if len(lacking) < len(fields):
        raise _lacks(names, lacking, where)
    for wanted in (fields, order):
        if len(wanted) == width and all(field in wanted for field in fields):
            places = tuple(list(wanted).index(field) for field in fields)
            return Cells(tuple(fields), places, width, tuple(wanted), header, named=False)
    wanted = f"{len(fields)} {'is' if len(fields) == 1 else 'are'} needed ({', '.join(fields)})"
    raise RegardError(
        f"the table has {width} column{'' if width == 1 else 's'}, but {wanted}: "
        f"{listed(first, header=header)}.",
        where=where,
        fix=Message("Choose the columns by name or number from 1: `", CHOOSING, "`; ", IN_A_SPEC),
    )


def _with_ranges(
    first: Sequence[str], fields: Sequence[str], *, width: int, header: bool, where: str
) -> Cells:
    names = [cell.strip() for cell in first]
    single = assign(first, ends_of(fields, names), width=width, header=header, where=where)
    cells = dict(zip(single.fields, single.places, strict=True))
    places: list[Any] = []
    for field in fields:
        both = ends(field, names)
        place: Any = cells[field] if both is None else (cells[both[0]], cells[both[1]])
        if both is not None and place[0] >= place[1]:
            raise RegardError(f"the range {field} is empty.", where=where, fix="Write FIRST..LAST.")
        places.append(place)
    return Cells(tuple(fields), tuple(places), single.width, single.names, single.header, single.named)


def _lacks(names: Sequence[str], lacking: Sequence[str], where: str) -> RegardError:
    nearest = get_close_matches(lacking[0], names, n=1)
    return RegardError(
        f"the header has {', '.join(names)}, but no {' and no '.join(lacking)}.",
        where=f"{where}:1",
        fix=f"Rename {nearest[0]!r} to {lacking[0]!r}."
        if nearest
        else "Give the columns the names that the spec uses.",
    )


def listed(first: Sequence[str], *, header: bool) -> str:
    """The columns of a table: their names, else their numbers with the content of the first row."""
    cells = [" ".join(cell.split()) for cell in first]
    if header:
        return ", ".join(cells)
    short = [cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}…" for cell in cells]
    return ", ".join(f"{number} ({cell})" for number, cell in enumerate(short, 1))
