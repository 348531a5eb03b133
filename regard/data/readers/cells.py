"""Cells of a table and their fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from regard.data.readers.layout import Record
from regard.data.readers.row import Row
from regard.errors import RegardError

SHOWN = 30


@dataclass(frozen=True)
class Cells:
    """The assignment of cells to fields.

    fields, places   each field and the index of its cell, from 0
    width            number of cells of a row
    names            names of all cells: from the header, else the fields, else numbers from 1
    header           whether the first row is a header
    named            whether the fields were found by name or number
    """

    fields: tuple[str, ...]
    places: tuple[int, ...]
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
        values = {field: record.cells[place] for field, place in zip(self.fields, self.places, strict=True)}
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
        fix="Choose the columns by name or number from 1: `regard train FILE --source NAME --target NAME`; in a "
        "spec, set `field` of each column, or list all columns in data.fields.",
    )


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
