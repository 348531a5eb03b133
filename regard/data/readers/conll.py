"""CoNLL columns: a word per line with its tags, a blank line between sentences (CoNLL-2000, CoNLL-2003).

EU      NNP  I-NP  I-ORG
rejects VBZ  I-VP  O
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

from regard.data.readers.lines import Line, read_lines
from regard.data.readers.reader import Reader
from regard.data.readers.row import Row
from regard.errors import RegardError
from regard.parts import register

DOCUMENT = "-DOCSTART-"


@register("reader", "conll")
class ConllReader(Reader):
    """CoNLL columns: a word per line with its tags. A row is a sentence; a field holds one column, separated by spaces.

    The fields name the columns in order, with `_` for those not wanted. Fields may also be column numbers from 1 ("4"),
    in any selection. Cells are separated by tabs if the file has any, else by spaces. Lines that start with -DOCSTART-
    mark documents and are skipped.
    """

    suffixes: ClassVar[tuple[str, ...]] = (".conll",)

    def read(
        self, files: Sequence[Path], fields: Sequence[str], *, images: str | None = None
    ) -> Iterator[Row]:
        path = files[0]
        places: list[int] | None = None
        gathered: list[Line] = []
        for line in _with_end(read_lines(path)):
            if line.text.strip():
                if not line.text.startswith(DOCUMENT):
                    gathered.append(line)
                continue
            if gathered:
                width = len(_cells(gathered[0].text))
                if places is None:
                    places = columns_of(fields, width, str(path))
                yield _row(gathered, fields, places, width, str(path))
                gathered = []


def _with_end(lines: Iterator[Line]) -> Iterator[Line]:
    yield from lines
    yield Line(0, "")


def columns_of(fields: Sequence[str], width: int, where: str) -> list[int]:
    """The index of the column of each field, from 0."""
    if all(field.isdecimal() for field in fields):
        wrong = next((field for field in fields if not 1 <= int(field) <= width), None)
        if wrong:
            raise RegardError(f"there is no column {wrong}; the file has {width}.", where=where)
        return [int(field) - 1 for field in fields]
    if len(fields) == width:
        return list(range(width))
    raise RegardError(
        f"the file has {width} columns, but {len(fields)} fields are named: {', '.join(fields)}.",
        where=where,
        fix=f"List all columns in data.fields, with _ for unused ones, or choose them by number: field: '{width}'.",
    )


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def _row(lines: Sequence[Line], fields: Sequence[str], places: Sequence[int], width: int, path: str) -> Row:
    table = []
    for line in lines:
        cells = _cells(line.text)
        problem = line.problem
        if problem is None and len(cells) != width:
            problem = f"has {len(cells)} columns, the first line of its sentence has {width}"
        elif problem is None and any(not cell or " " in cell for cell in cells):
            problem = "has a cell that is empty or contains a space"
        if problem:
            return Row(file=path, line=line.number, problem=problem, source=line.text)
        table.append(cells)
    if width <= max(places):
        reason = f"has {width} columns, expected at least {max(places) + 1}"
        return Row(file=path, line=lines[0].number, problem=reason, source=lines[0].text)
    values = {
        field: " ".join(cells[place] for cells in table)
        for field, place in zip(fields, places, strict=True)
        if field != "_"
    }
    return Row(values, file=path, line=lines[0].number)
